// How far a tensor reaches in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace sr {

// Returns the number of elements that a tensor with these sizes and strides spans in memory; 0 if it is
// empty.
inline std::size_t extent_of(at::IntArrayRef sizes, at::IntArrayRef strides) {
  std::int64_t extent = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    extent += (sizes[d] - 1) * strides[d];
  }
  return static_cast<std::size_t>(extent);
}

// Returns the number of bytes from the first byte of the tensor's first element to the last byte of its last.
inline std::size_t extent_in_bytes(const at::Tensor& tensor) {
  return extent_of(tensor.sizes(), tensor.strides()) * tensor.element_size();
}

}  // namespace sr
