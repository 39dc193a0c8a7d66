// The strides of dense tensors, and of views with other sizes.
#pragma once

#include <cstddef>
#include <optional>

#include <sr/replay/sizes/arithmetic.hpp>

namespace sr::replay {

// The strides of a tensor whose elements lie in memory in the order of their indices.
inline Dims dense_strides(c10::ArrayRef<Size> sizes) {
  Dims strides(sizes.size());
  Size next = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    strides[d] = next;
    if (sizes[d] != 0) next *= sizes[d];
  }
  return strides;
}

// The strides with which a tensor of these sizes and strides can be viewed with `wanted` sizes, of as many
// elements; nothing if it would have to be copied. Gives what at::detail::computeStride gives: new dimensions
// of size 1 get the strides that belong to the dimension inside of them.
inline std::optional<Dims> strides_of_view(const Dims& sizes, const Dims& strides, const Dims& wanted) {
  Dims made = wanted;
  if (sizes.empty()) {
    for (Size& stride : made) stride = 1;
    return made;
  }
  if (product_of(sizes) == 0) {
    if (sizes.size() == wanted.size() && sizes == wanted) return strides;
    return dense_strides(wanted);
  }
  // From the inside: dimensions that are evenly spaced form a run, which new dimensions must fill completely.
  std::size_t left = wanted.size();
  for (std::size_t end = sizes.size(); end > 0;) {
    const Size step = strides[end - 1];
    Size run = 1, filled = 1;
    do {
      run *= sizes[--end];
    } while (end > 0 && (sizes[end - 1] == 1 || strides[end - 1] == run * step));
    while (left > 0 && (filled < run || wanted[left - 1] == 1)) {
      made[--left] = filled * step;
      filled *= wanted[left];
    }
    if (filled != run) return std::nullopt;
  }
  return left == 0 ? std::optional(made) : std::nullopt;
}

}  // namespace sr::replay
