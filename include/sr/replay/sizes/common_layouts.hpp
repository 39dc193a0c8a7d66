// Rules of layouts, and parts of rules, that several families of operators share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// For each dimension of a tensor of this rank, whether it is among `dims`.
inline std::vector<bool> are_named(const Dims& dims, std::size_t rank) {
  std::vector<bool> named(rank);
  for (const Size& dim : dims) named[from_front(dim.pin(), rank)] = true;
  return named;
}

inline void swap_dims(TensorLayout& layout, std::size_t a, std::size_t b) {
  std::swap(layout.sizes[a], layout.sizes[b]);
  std::swap(layout.strides[a], layout.strides[b]);
}

// The layout with a dimension of size 1 inserted.
inline TensorLayout unsqueezed(TensorLayout layout, std::size_t dim) {
  const auto at = static_cast<std::ptrdiff_t>(dim);
  const Size stride = dim < layout.sizes.size() ? layout.sizes[dim] * layout.strides[dim] : Size(1);
  layout.sizes.insert(layout.sizes.begin() + at, Size(1));
  layout.strides.insert(layout.strides.begin() + at, stride);
  return layout;
}

// A new tensor in the memory format that LibTorch suggests for `like` (TensorBase::suggest_memory_format).
inline void suggested(LayoutRule& rule, const TensorLayout& like, Dims sizes) {
  if (!is_channels_last(like) || sizes.size() != like.sizes.size()) return rule.dense(std::move(sizes));
  Dims strides = channels_last_strides(sizes);
  rule.fresh({std::move(sizes), std::move(strides), 0});
}

inline bool suggested_like_first(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  suggested(rule, self, self.sizes);
  return true;
}

// True if TensorIterator iterates over the operand in the order of its dimensions: outer strides are larger.
// It skips strides of 0, and swaps dimensions of equal strides only where the inner one is larger
// (reorder_dimensions in ATen/TensorIterator.cpp).
inline bool is_in_order(const TensorLayout& layout) {
  std::optional<std::size_t> outer;
  for (std::size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.strides[d] == 0) continue;
    if (outer && !(layout.strides[*outer] > layout.strides[d]) &&
        !(layout.strides[*outer] == layout.strides[d] && layout.sizes[d] == 1)) {
      return false;
    }
    outer = d;
  }
  return true;
}

// The strides of a new tensor without gaps whose dimensions lie in memory in the same order. Returns nothing
// if a dimension has size 1, or if two dimensions have the same stride: LibTorch has other rules for those.
inline std::optional<Dims> dense_in_same_order(const TensorLayout& layout) {
  std::vector<std::size_t> order(layout.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return layout.strides[a].recorded() < layout.strides[b].recorded();
  });
  Dims strides(order.size(), 0);
  Size run = 1, inner = 0;
  for (const std::size_t d : order) {
    if (layout.sizes[d] == 1 || !(layout.strides[d] > inner)) return std::nullopt;
    strides[d] = run;
    run *= layout.sizes[d];
    inner = layout.strides[d];
  }
  return strides;
}

// Broadcasts all tensors among the inputs.
inline bool pointwise(LayoutRule& rule) {
  std::vector<TensorLayout> operands;
  bool has_number = false;
  for (std::size_t i = 0; i < rule.input_count(); ++i) {
    if (rule.value(i).isInt()) rule.compute_with(i);
    has_number |= rule.value(i).isScalar();
    if (rule.has_tensor(i)) operands.push_back(rule.tensor(i));
  }
  return iterate(rule, operands, has_number);
}

// masked_fill(x, mask, value), linalg_cross(x, y, dim). The result is contiguous; its sizes are those of the
// first two tensors, broadcast.
inline bool broadcast_to_dense(LayoutRule& rule) {
  const Dims x = rule.tensor(0).sizes;
  if (rule.has_tensor(2)) rule.tensor(2);  // the value, of one element
  rule.dense(broadcast(x, rule.tensor(1).sizes));
  return true;
}

// Operators in place, as add_(x, other): the result is the first input, and other tensors are broadcast to
// it.
inline bool in_place(LayoutRule& rule) {
  if (!rule.has_tensor(0)) return false;
  const Dims sizes = rule.tensor(0).sizes;
  for (std::size_t i = 1; i < rule.input_count(); ++i) {
    if (rule.has_tensor(i) && !broadcasts_to(rule.tensor(i).sizes, sizes)) return false;
  }
  rule.same(0);
  return true;
}

// A new contiguous tensor with the sizes of the first input, whatever the strides of that are.
inline bool like_first(LayoutRule& rule) {
  rule.dense(rule.tensor(0).sizes);
  return true;
}

// A new tensor with the sizes of the first input. It has the strides of the input if the input's memory has
// no gaps. Otherwise the result has no gaps, and its dimensions have the same order in memory as those of the
// input (at::infer_dense_strides).
inline std::optional<TensorLayout> copied_in_order(const TensorLayout& self) {
  if (is_dense(self)) return TensorLayout{self.sizes, dense_strides(self.sizes), 0};
  if (!has_gap(self)) return TensorLayout{self.sizes, self.strides, 0};
  if (const auto strides = dense_in_same_order(self)) return TensorLayout{self.sizes, *strides, 0};
  if (is_in_order(self)) return TensorLayout{self.sizes, dense_strides(self.sizes), 0};
  return std::nullopt;
}

inline bool copy_in_order(LayoutRule& rule) {
  return rule.fresh_if_known(copied_in_order(rule.tensor(0)));
}

// fill(x, value), fake_quantize_per_tensor_affine(x, scale, zero_point, ...): copies of x. The tensors after
// x have one element and do not change the layout.
inline bool filled(LayoutRule& rule) {
  for (const std::size_t i : {1, 2}) {
    if (rule.has_tensor(i)) rule.tensor(i);
  }
  return copy_in_order(rule);
}

// True if no size is negative.
inline bool are_sizes(const Dims& sizes) {
  return std::ranges::all_of(sizes, [](const Size& size) { return require(size >= 0); });
}

// Adds a new contiguous tensor of these sizes. Returns false if a size is negative.
inline bool dense_of(LayoutRule& rule, Dims sizes) {
  if (!are_sizes(sizes)) return false;
  rule.dense(std::move(sizes));
  return true;
}

}  // namespace sr::replay::layouts
