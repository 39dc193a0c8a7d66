// How a request ends, for both transports.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace sr::serve {

enum class Status : std::uint8_t {
  ok,
  invalid,       // the request is wrong: 400, INVALID_ARGUMENT
  unauthorized,  // 401, UNAUTHENTICATED
  not_found,     // no such model, version or session: 404, NOT_FOUND
  busy,          // the queue is full: 429, RESOURCE_EXHAUSTED
  cancelled,     // the client went away: 499, CANCELLED
  failed,        // the model threw: 500, INTERNAL
  unsupported,   // 501, UNIMPLEMENTED
  unavailable,   // loading or draining: 503, UNAVAILABLE
  deadline       // 504, DEADLINE_EXCEEDED
};

// For labels of metrics and for logs.
const char* name_of(Status status);

// `what()` is a sentence for the client.
class RequestError : public std::runtime_error {
 public:
  RequestError(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

struct Failure {
  Status status = Status::failed;
  std::string message;
};

// What a request that ended with this exception says to its client.
Failure failure_of(const std::exception_ptr& error);

}  // namespace sr::serve
