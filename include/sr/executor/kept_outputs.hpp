// True if the output tensors that nodes keep from call to call may be used in this call.
#pragma once

#include <c10/core/DefaultDtype.h>

#include <sr/base/thread_modes.hpp>
#include <sr/executor/execution_state.hpp>

namespace sr::detail {

// A kept tensor is right only in the modes in which it was made: the dtype of some results depends on the
// default dtype (true division of integers, factory functions), and inference mode makes inference tensors.
class KeptOutputs {
 public:
  // Must be called before a call on the general path, with the modes of its thread. Drops the outputs if a
  // mode differs from the last call's.
  void obey(ThreadModes modes, ExecutionState& execution) {
    const auto dtype = c10::get_default_dtype_as_scalartype();
    if (modes == modes_ && dtype == default_dtype_) return;
    for (NodeState& state : execution.frame.states) state.valid = false;
    modes_ = modes;
    default_dtype_ = dtype;
  }

 private:
  ThreadModes modes_ = ThreadModes::now();
  at::ScalarType default_dtype_ = c10::get_default_dtype_as_scalartype();
};

}  // namespace sr::detail
