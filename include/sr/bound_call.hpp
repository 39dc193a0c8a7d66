// A call whose arguments and results are tensors that stay where they are.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/graph/report.hpp>

namespace sr {

namespace detail {

class BoundState;

}  // namespace detail

// Made by StaticRuntime::bind. Each call reads what the tensors of the arguments hold at that time, and
// writes the results into outputs(). It compares no signature and makes no results, so that it takes little
// more than the kernels; programs that cannot be replayed run as StaticRuntime::run_into does.
//
// Belongs to one thread at a time. Has its own runtime, so that the runtime it was made by is free for
// other calls and may be destroyed. It holds the tensors; numbers and containers are those that bind was
// given. A tensor that has got other memory, sizes or strides is noticed by the next call, which answers for
// the tensors as they are then.
class BoundCall {
 public:
  // Throws what StaticRuntime::run_into throws: ArgumentError if the results do not fit into outputs() any
  // more, BusyError if a call is running, and what operators throw.
  void operator()();

  // The arguments, complete and in the order of the schema.
  const std::vector<c10::IValue>& arguments() const;
  // One for each tensor of the result, depth first.
  const std::vector<at::Tensor>& outputs() const;
  // True if the next call replays, if nothing changes before.
  bool is_replayed() const;
  // Reports on the call's runtime.
  Report report() const;

  // For StaticRuntime.
  explicit BoundCall(std::unique_ptr<detail::BoundState> state);
  BoundCall(BoundCall&&) noexcept;
  BoundCall& operator=(BoundCall&&) noexcept;
  ~BoundCall();

 private:
  std::unique_ptr<detail::BoundState> state_;
};

}  // namespace sr
