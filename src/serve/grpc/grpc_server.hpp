// The Open Inference Protocol by gRPC.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "../server_state.hpp"

namespace sr::serve {

struct GrpcOptions {
  std::string address;           // "127.0.0.1:8001"
  std::string certificate, key;  // the texts of PEM; empty: no TLS
  std::size_t max_body = 0;
};

class GrpcServer {
 public:
  // Listens at once. `state` must outlive the server. Throws std::runtime_error if it cannot listen.
  GrpcServer(ServerState& state, const GrpcOptions& options);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  ~GrpcServer();

  int port() const;
  // Refuses new calls and waits for the running ones. Cancels those that still run at the deadline.
  void shut_down(std::chrono::system_clock::time_point deadline);

 private:
  class Service;
  struct Running;
  std::unique_ptr<Running> running_;
};

}  // namespace sr::serve
