// Copies results of a call into tensors of the caller.
#pragma once

#include <cstddef>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>

namespace sr::detail {

// Copies the tensors of a result in depth-first order and counts them in `used`. Throws ArgumentError for an
// output that does not fit.
inline void copy_results(const c10::IValue& result, c10::ArrayRef<at::Tensor> outputs, std::size_t& used) {
  if (result.isTensor()) {
    if (used >= outputs.size()) {
      ++used;
      return;
    }
    const at::Tensor& from = result.toTensor();
    const at::Tensor& to = outputs[used];
    if (!to.defined() || to.scalar_type() != from.scalar_type() || !to.sizes().equals(from.sizes())) {
      throw ArgumentError("Output tensor " + std::to_string(used) + " given to run_into is " +
                          (to.defined() ? c10::str(to.scalar_type(), to.sizes()) : std::string("undefined")) +
                          ", but the model returns " + c10::str(from.scalar_type(), from.sizes()) +
                          " there.");
    }
    if (has_no_memory(to)) {
      throw ArgumentError("Output tensor " + std::to_string(used) +
                          " given to run_into has no memory any more.");
    }
    to.copy_(from);
    ++used;
  } else if (result.isTuple()) {
    for (const c10::IValue& element : result.toTupleRef().elements()) copy_results(element, outputs, used);
  } else if (result.isList()) {
    for (const c10::IValue& element : result.toListRef()) copy_results(element, outputs, used);
  } else if (result.isGenericDict()) {
    for (const auto& entry : result.toGenericDict()) copy_results(entry.value(), outputs, used);
  }
}

// Copies all results. Throws ArgumentError also if there are more outputs than tensors.
inline void copy_all_results(const c10::IValue& result, c10::ArrayRef<at::Tensor> outputs) {
  std::size_t used = 0;
  copy_results(result, outputs, used);
  if (used != outputs.size()) {
    throw ArgumentError("run_into was given " + std::to_string(outputs.size()) +
                        " output tensors, but the model returns " + std::to_string(used) + ".");
  }
}

}  // namespace sr::detail
