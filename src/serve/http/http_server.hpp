// Listens for HTTP/1.1 on a port or a unix socket.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "../server_state.hpp"

namespace sr::serve {

struct HttpLimits {
  std::size_t max_body = 0;  // bytes; a longer one is refused with 413
  std::size_t max_header = 16384;
  std::size_t max_connections = 0;  // one more is closed at once
  std::chrono::duration<double> idle{60};
};

// Anything that listens until it is closed. Connections that it has accepted go on.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void close() = 0;
  virtual int port() const = 0;  // 0 of a unix socket
};

// Listens on a TCP port. `state` must outlive the run of `context`. Without TLS, `tls` is null. Throws
// std::system_error if the address cannot be bound.
std::shared_ptr<Listener> listen_http(boost::asio::io_context& context, ServerState& state,
                                      const HttpLimits& limits, const std::string& host, int port,
                                      std::shared_ptr<boost::asio::ssl::context> tls);
// Like listen_http(), on a unix socket. Removes an existing socket at that path if no server listens on it.
std::shared_ptr<Listener> listen_http_unix(boost::asio::io_context& context, ServerState& state,
                                           const HttpLimits& limits, const std::string& path);

}  // namespace sr::serve
