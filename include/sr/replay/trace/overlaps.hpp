// Finds operands of one node that overlap in memory. LibTorch refuses some writes to such operands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include <sr/replay/sizes/arithmetic.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

namespace detail {

// True if the elements fill a run of memory, each its own place, in whatever order of the dimensions.
// Compares what compute_non_overlapping_and_dense compares (c10/core/TensorImpl.h), so that the comparisons
// hold for every call that has the same answer.
inline bool fills_memory(const TensorLayout& layout) {
  std::vector<std::size_t> order(layout.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t d) { return layout.sizes[d] == 1; });
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return layout.strides[a] < layout.strides[b]; });
  Size expected = 1;
  for (const std::size_t d : order) {
    if (layout.strides[d] != expected) return false;
    expected *= layout.sizes[d];
  }
  return true;
}

}  // namespace detail

// Makes guards of everything that at::get_overlap_status (ATen/MemoryOverlap.cpp) asks about two tensors of
// one storage: a call for which the answer is another one is not served by the recording. Replays cannot
// ask, since each of their tensors has its own storage. Requires a SizeScope if the layouts have
// symbols.
inline void guard_overlap(const TensorLayout& a, const TensorLayout& b) {
  if (product_of(a.sizes) == 0 || product_of(b.sizes) == 0) return;
  if (!detail::fills_memory(a) || !detail::fills_memory(b)) return;
  const Size a_end = a.offset + product_of(a.sizes), b_end = b.offset + product_of(b.sizes);
  if (a.offset == b.offset && a_end == b_end) {
    for (std::size_t d = 0; d < std::min(a.strides.size(), b.strides.size()); ++d) {
      if (a.strides[d] != b.strides[d]) return;
    }
    return;
  }
  static_cast<void>(a.offset < b_end && b.offset < a_end);
}

// True if copy_ from one of the tensors to the other does nothing, as when they are one tensor or views of
// the same elements (copy_impl, ATen/native/Copy.cpp), even where elements share memory. Both lie in one
// storage. Makes guards of what it compares, and requires a SizeScope like guard_overlap().
inline bool is_same_data(const at::Tensor& to, const at::Tensor& from, const TensorLayout& to_layout,
                         const TensorLayout& from_layout) {
  return to.scalar_type() == from.scalar_type() && to.is_conj() == from.is_conj() &&
         to.is_neg() == from.is_neg() && to_layout.offset == from_layout.offset &&
         layouts::are_equal(to_layout.strides, from_layout.strides) &&
         layouts::are_equal(to_layout.sizes, from_layout.sizes);
}

}  // namespace sr::replay
