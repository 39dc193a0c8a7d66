// The paths of the Open Inference Protocol, whatever connection a request came by.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "../server_state.hpp"

namespace sr::serve {

// The texts have to exist until `handle` returns.
struct HttpRequest {
  std::string_view method, target;  // "GET", "/v2/health/live"
  // Headers; empty if they are not there.
  std::string_view authorization, timeout, json_bytes, encoding, traceparent;
  std::shared_ptr<const std::string> body;
};

struct HttpResponse {
  unsigned status = 200;
  std::string body;
  const char* type = "application/json";
  std::size_t json_bytes = 0;  // for the header Inference-Header-Content-Length; 0: none
  const char* allow = nullptr;
};

using HttpDone = std::function<void(HttpResponse)>;

unsigned http_code(Status status);
HttpResponse error_response(const Failure& failure);

// Calls `done` once, here or on another thread.
void handle(const ServerState& state, const HttpRequest& request, std::stop_token stop, HttpDone done);

}  // namespace sr::serve
