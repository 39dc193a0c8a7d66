#include "http_server.hpp"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "http_connection.hpp"

namespace sr::serve {
namespace {

namespace asio = boost::asio;

template <class Protocol>
class Acceptor final : public Listener, public std::enable_shared_from_this<Acceptor<Protocol>> {
 public:
  using Executor = asio::strand<asio::io_context::executor_type>;
  using Stream = beast::basic_stream<Protocol, Executor>;

  Acceptor(asio::io_context& context, ServerState& state, const HttpLimits& limits,
           const typename Protocol::endpoint& at, std::shared_ptr<asio::ssl::context> tls)
      : context_(context),
        state_(state),
        limits_(limits),
        tls_(std::move(tls)),
        acceptor_(asio::make_strand(context)),
        pause_(acceptor_.get_executor()),
        sweep_(acceptor_.get_executor()) {
    acceptor_.open(at.protocol());
    acceptor_.set_option(asio::socket_base::reuse_address(true));
    acceptor_.bind(at);
    acceptor_.listen(4096);
  }

  void start() {
    sweep_later();
    accept();
  }
  void accept() {
    acceptor_.async_accept(asio::make_strand(context_),
                           [self = this->shared_from_this()](beast::error_code error, auto socket) {
                             if (error == asio::error::operation_aborted) return;
                             if (error) return self->accept_later();
                             self->take(std::move(socket));
                             self->accept();
                           });
  }
  void close() override {
    asio::post(acceptor_.get_executor(), [self = this->shared_from_this()] {
      beast::error_code ignored;
      self->acceptor_.close(ignored);
      self->pause_.cancel();
      self->sweep_.cancel();
    });
  }
  int port() const override {
    if constexpr (kIsTcp) return acceptor_.local_endpoint().port();
    return 0;
  }

 private:
  static constexpr bool kIsTcp = std::is_same_v<Protocol, asio::ip::tcp>;

  // The process may have no file descriptor left until a connection ends.
  void accept_later() {
    pause_.expires_after(std::chrono::milliseconds(20));
    pause_.async_wait([self = this->shared_from_this()](beast::error_code error) {
      if (!error) self->accept();
    });
  }

  void sweep_later() {
    sweep_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::min<std::chrono::duration<double>>(limits_.idle / 4, std::chrono::seconds(1))));
    sweep_.async_wait([self = this->shared_from_this()](beast::error_code error) {
      if (error) return;
      self->connections_->sweep();
      self->sweep_later();
    });
  }

  template <class Socket>
  void take(Socket socket) {
    if (connections_->count() >= limits_.max_connections) return;  // the socket closes itself
    Stream stream(std::move(socket));
    if constexpr (kIsTcp) {
      beast::error_code ignored;
      stream.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
      if (tls_ != nullptr) return start(beast::ssl_stream<Stream>(std::move(stream), *tls_));
    }
    start(std::move(stream));
  }
  template <class Any>
  void start(Any stream) {
    std::make_shared<HttpConnection<Any>>(std::move(stream), state_, limits_, connections_)->start();
  }

  asio::io_context& context_;
  ServerState& state_;
  HttpLimits limits_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::shared_ptr<IdleConnections> connections_ = std::make_shared<IdleConnections>();
  asio::basic_socket_acceptor<Protocol, Executor> acceptor_;
  using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                           asio::wait_traits<std::chrono::steady_clock>, Executor>;
  Timer pause_, sweep_;
};

template <class Protocol>
std::shared_ptr<Listener> listen(asio::io_context& context, ServerState& state, const HttpLimits& limits,
                                 const typename Protocol::endpoint& at,
                                 std::shared_ptr<asio::ssl::context> tls) {
  auto acceptor = std::make_shared<Acceptor<Protocol>>(context, state, limits, at, std::move(tls));
  acceptor->start();
  return acceptor;
}

}  // namespace

std::shared_ptr<Listener> listen_http(asio::io_context& context, ServerState& state, const HttpLimits& limits,
                                      const std::string& host, int port,
                                      std::shared_ptr<asio::ssl::context> tls) {
  asio::ip::tcp::resolver resolver(context);
  const auto found = resolver.resolve(host, std::to_string(port), asio::ip::resolver_base::passive);
  return listen<asio::ip::tcp>(context, state, limits, found.begin()->endpoint(), std::move(tls));
}

std::shared_ptr<Listener> listen_http_unix(asio::io_context& context, ServerState& state,
                                           const HttpLimits& limits, const std::string& path) {
  using Unix = asio::local::stream_protocol;
  if (std::filesystem::is_socket(path)) {
    beast::error_code error;
    Unix::socket probe(context);
    probe.connect(Unix::endpoint(path), error);
    if (error == asio::error::connection_refused) std::filesystem::remove(path);
  }
  return listen<Unix>(context, state, limits, Unix::endpoint(path), nullptr);
}

}  // namespace sr::serve
