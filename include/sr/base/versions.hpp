// Version counters of tensors that a call writes for its caller: autograd compares them, and would else
// compute gradients of values that are no longer there.
#pragma once

#include <ATen/core/Tensor.h>

namespace sr::detail {

// Once a call, as LibTorch's operators in place do. Inference tensors count nothing.
inline void count_write(const at::Tensor& tensor) {
  c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  if (impl->version_counter().enabled()) impl->bump_version();
}

}  // namespace sr::detail
