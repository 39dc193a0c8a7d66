#include "status.hpp"

#include <c10/util/Exception.h>

#include <sr/error.hpp>

#include "../../tool/last_line.hpp"

namespace sr::serve {
namespace {

Status status_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::argument:
    case ErrorCode::assertion_failed:
      return Status::invalid;
    case ErrorCode::busy:
      return Status::busy;
    case ErrorCode::unsupported_op:
      return Status::unsupported;
    default:
      return Status::failed;
  }
}

}  // namespace

const char* name_of(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::invalid:
      return "invalid";
    case Status::unauthorized:
      return "unauthorized";
    case Status::not_found:
      return "not_found";
    case Status::busy:
      return "busy";
    case Status::cancelled:
      return "cancelled";
    case Status::failed:
      return "failed";
    case Status::unsupported:
      return "unsupported";
    case Status::unavailable:
      return "unavailable";
    case Status::deadline:
      return "deadline";
  }
  return "";
}

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RequestError& failure) {
    return {failure.status(), failure.what()};
  } catch (const CancelledError& failure) {
    const bool is_late = std::string(failure.what()).find("deadline") != std::string::npos;
    return {is_late ? Status::deadline : Status::cancelled, failure.what()};
  } catch (const Error& failure) {
    return {status_of(failure), failure.what()};
  } catch (const c10::Error& failure) {
    return {Status::failed, tool::last_line(failure.what_without_backtrace())};
  } catch (const std::exception& failure) {
    return {Status::failed, tool::last_line(failure.what())};
  }
}

}  // namespace sr::serve
