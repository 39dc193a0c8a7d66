// The interface of what `sr bench` times.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <ATen/core/ivalue.h>

#include <sr/report.hpp>

#include "../inputs/inputs.hpp"

namespace sr::tool {

// Belongs to one thread at a time.
class Runner {
 public:
  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;

  // One call with input set `set`, whose number is for runners that keep something for each set. Runners that
  // write into buffers return nothing.
  virtual c10::IValue run(ArgumentList&& args, std::size_t set) = 0;

  // Prepares for calls with these arguments, which it does not change.
  virtual void reserve(const ArgumentList& /*args*/) {}

  // See StaticRuntime::time_steps. Only sr's runners do it.
  virtual void time_steps(bool /*on*/) {}

  // The results of a run of input set `set`, by default what it returned.
  virtual c10::IValue outcome(c10::IValue returned, std::size_t /*set*/) const { return returned; }

  // A runner of the same model for another thread, which shares nothing that calls change.
  virtual std::unique_ptr<Runner> clone() const = 0;

  // Bytes held for planned tensors.
  virtual std::optional<memory::Bytes> arena_bytes() const { return std::nullopt; }

  // Only sr's runners have one.
  virtual std::optional<Report> report() const { return std::nullopt; }
};

}  // namespace sr::tool
