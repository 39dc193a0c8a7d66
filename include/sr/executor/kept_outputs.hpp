// Whether the output tensors that nodes keep from call to call may be used in this call.
#pragma once

#include <c10/core/DefaultDtype.h>

#include <sr/base/thread_modes.hpp>
#include <sr/executor/execution_state.hpp>

namespace sr::detail {

// Tensors are of the modes in which they were made: the default dtype decides the dtype of some results (true
// division of integers, factory functions), and inference mode makes tensors of its own.
class KeptOutputs {
 public:
  // Before a call on the general path: drops the outputs when a mode is not that of the last call.
  void obey_modes(ExecutionState& execution) {
    const ThreadModes modes = ThreadModes::now();
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
