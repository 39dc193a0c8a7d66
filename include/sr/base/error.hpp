// The exceptions of sr itself. All types derive from c10::Error, so handlers written for LibTorch
// keep working; an exception thrown by an operator is never wrapped in one of these.
#pragma once

#include <cstdint>
#include <string>

#include <c10/util/Exception.h>

namespace sr {

class Error : public c10::Error {
 public:
  // `message` is one or more sentences: what was wrong, where, what was expected.
  // The other arguments say where it was raised; Debian's clang 14 has no std::source_location.
  explicit Error(const std::string& message, const char* function = __builtin_FUNCTION(),
                 const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE())
      : c10::Error(c10::SourceLocation{function, file, line}, message) {}

  // The message with the context that was added on the way up, without a stack trace.
  const char* what() const noexcept override { return what_without_backtrace(); }
};

// The file is missing, truncated, damaged, or not an archive of TorchScript or of torch.export.
class LoadError : public Error {
 public:
  using Error::Error;
};

// The graph holds something that cannot be run here, or that `strict` forbids.
class UnsupportedOp : public Error {
 public:
  using Error::Error;
};

// Wrong number, name, type or device of an argument of a call.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

// The stop token or the deadline of a call ended it.
class CancelledError : public Error {
 public:
  using Error::Error;
};

// A runtime was entered while it was already running, or all runtimes of a pool were in use for too long.
class BusyError : public Error {
 public:
  using Error::Error;
};

// Two functors registered for one schema, or a registry without any operator.
class RegistryError : public Error {
 public:
  using Error::Error;
};

// A quantized model loses more than the bounds allow.
class QuantizationError : public Error {
 public:
  using Error::Error;
};

// A planner returned a layout that does not satisfy its requests.
class PlannerError : public Error {
 public:
  using Error::Error;
};

// A checked replay (SR_CHECK) differs from the interpreter.
class CheckFailedError : public Error {
 public:
  using Error::Error;
};

// An invariant of sr does not hold. Please report the message.
class InternalError : public Error {
 public:
  using Error::Error;
};

}  // namespace sr
