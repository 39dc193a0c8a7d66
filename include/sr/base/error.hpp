// The exceptions of sr itself. All types derive from c10::Error, so handlers written for LibTorch
// keep working; an exception thrown by an operator is never wrapped in one of these.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

namespace sr {

// For programs that log or count errors; each type of exception has one.
enum class ErrorCode : std::uint8_t {
  load = 1,
  unsupported_op,
  argument,
  cancelled,
  busy,
  registry,
  quantization,
  planner,
  check_failed,
  assertion_failed,  // of an exported program, on its data
  state,
  internal
};

class Error : public c10::Error {
 public:
  // `message` is one or more sentences: what was wrong, where, what was expected.
  // The other arguments say where it was raised; Debian's clang 14 has no std::source_location.
  Error(ErrorCode code, const std::string& message, const char* function = __builtin_FUNCTION(),
        const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE())
      : c10::Error(c10::SourceLocation{function, file, line}, message), code_(code) {}

  ErrorCode code() const noexcept { return code_; }

  // The message with the context that was added on the way up, without a stack trace.
  const char* what() const noexcept override { return what_without_backtrace(); }

 private:
  ErrorCode code_;
};

namespace detail {

template <ErrorCode Code>
class ErrorWithCode : public Error {
 public:
  explicit ErrorWithCode(const std::string& message, const char* function = __builtin_FUNCTION(),
                         const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE())
      : Error(Code, message, function, file, line) {}
};

}  // namespace detail

// The file is missing, truncated, damaged, or not an archive of TorchScript or of torch.export.
class LoadError : public detail::ErrorWithCode<ErrorCode::load> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

// The graph holds something that cannot be run here, or that `strict` forbids.
class UnsupportedOpError : public Error {
 public:
  explicit UnsupportedOpError(const std::string& message, std::vector<std::string> operators = {},
                              const char* function = __builtin_FUNCTION(),
                              const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE())
      : Error(ErrorCode::unsupported_op, message, function, file, line), operators_(std::move(operators)) {}

  // The kinds of the nodes that cannot be run, such as "aten::add"; empty if no node is the reason.
  const std::vector<std::string>& operators() const noexcept { return operators_; }

 private:
  std::vector<std::string> operators_;
};

// Wrong number, name, type or device of an argument of a call.
class ArgumentError : public Error {
 public:
  explicit ArgumentError(const std::string& message, std::string argument = {},
                         const char* function = __builtin_FUNCTION(), const char* file = __builtin_FILE(),
                         std::uint32_t line = __builtin_LINE())
      : Error(ErrorCode::argument, message, function, file, line), argument_(std::move(argument)) {}

  // The name of the argument, as the schema has it; empty if no single argument is the reason.
  const std::string& argument() const noexcept { return argument_; }

 private:
  std::string argument_;
};

// The stop token or the deadline of a call ended it.
class CancelledError : public detail::ErrorWithCode<ErrorCode::cancelled> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

// A runtime was entered while it was already running, or all runtimes of a pool were in use for too long.
class BusyError : public detail::ErrorWithCode<ErrorCode::busy> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

// A call threw and left the state of a session partly written. reset() or load() sets it again.
class StateError : public detail::ErrorWithCode<ErrorCode::state> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

// Two functors registered for one schema, or a registry without any operator.
class RegistryError : public detail::ErrorWithCode<ErrorCode::registry> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

// A quantized model loses more than the bounds allow.
class QuantizationError : public detail::ErrorWithCode<ErrorCode::quantization> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

// A planner returned a layout that does not satisfy its requests.
class PlannerError : public detail::ErrorWithCode<ErrorCode::planner> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

// A checked replay (SR_CHECK) differs from the interpreter.
class CheckFailedError : public detail::ErrorWithCode<ErrorCode::check_failed> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

// An invariant of sr does not hold. Please report the message.
class InternalError : public detail::ErrorWithCode<ErrorCode::internal> {
 public:
  using ErrorWithCode::ErrorWithCode;
};

}  // namespace sr
