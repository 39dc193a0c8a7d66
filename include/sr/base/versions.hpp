// Version counters of tensors that a call writes for its caller. Autograd compares them to notice that a
// value it saved was overwritten.
#pragma once

#include <ATen/core/Tensor.h>

namespace sr::detail {

// Counts one write, as LibTorch's in-place operators do. Inference tensors have no counter.
inline void count_write(const at::Tensor& tensor) {
  c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
  if (impl->version_counter().enabled()) impl->bump_version();
}

}  // namespace sr::detail
