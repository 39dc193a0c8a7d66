// What is timed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <ATen/core/ivalue.h>

#include <sr/report.hpp>

#include "inputs.hpp"

namespace sr::tool {

// Belongs to one thread at a time.
class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  // One call with input set `set`; the number is for runners that keep something for each set. What is
  // returned is the caller's: runners that write into buffers return nothing.
  virtual c10::IValue run(ArgumentList&& args, std::size_t set) = 0;

  // Makes ready for calls with these arguments, which are left as they are.
  virtual void reserve(const ArgumentList& /*args*/) {}

  // See StaticRuntime::time_steps. Of sr alone.
  virtual void time_steps(bool /*on*/) {}

  // What the caller has after a run of input set `set`, by default what it returned.
  virtual c10::IValue outcome(c10::IValue returned, std::size_t /*set*/) const { return returned; }

  // For another thread: same model, nothing shared that running changes.
  virtual std::unique_ptr<Runner> clone() const = 0;

  // Bytes held for planned tensors.
  virtual std::optional<memory::Bytes> arena_bytes() const { return std::nullopt; }

  // Of sr alone.
  virtual std::optional<Report> report() const { return std::nullopt; }
};

}  // namespace sr::tool
