// The sizes, strides and offset of a tensor, as expressions in the sizes of the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include <sr/replay/sizes/arithmetic.hpp>

namespace sr::replay {

// The dimension counted from the front. A negative `dim` is counted from the end.
inline std::size_t from_front(std::int64_t dim, std::size_t rank) {
  return static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim);
}

// True if elements lie in memory in the order of their indices, without gaps.
inline bool are_dense(const Dims& sizes, const Dims& strides) {
  Size expected = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

// The metadata of a tensor in a trace. The recorded tensor itself knows only the sizes of the recorded call.
struct TensorLayout {
  Dims sizes, strides;
  Size offset = 0;  // elements from the start of the storage

  static TensorLayout of(const at::Tensor& tensor) {
    return {constant_dims(tensor.sizes()), constant_dims(tensor.strides()), tensor.storage_offset()};
  }

  // The number of elements that the tensor spans in memory. For numbers: base/extent.hpp.
  Size extent() const {
    Size extent = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 0) return 0;
      extent += (sizes[d] - 1) * strides[d];
    }
    return extent;
  }
};

inline bool is_dense(const TensorLayout& layout) {
  return are_dense(layout.sizes, layout.strides);
}

}  // namespace sr::replay
