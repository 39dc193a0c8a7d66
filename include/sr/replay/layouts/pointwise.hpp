// Layouts of results that have the sizes of all operands, broadcast.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/layouts/rule.hpp>

namespace sr::replay::layouts {

// Whether the condition holds, as the operator has shown by not throwing; it holds for other calls, too.
inline bool require(bool condition) {
  return condition;
}

// For each dimension of a tensor of this rank, whether it is among `dims`.
inline std::vector<bool> are_named(const Dims& dims, std::size_t rank) {
  std::vector<bool> named(rank);
  for (const Size& dim : dims) named[from_front(dim.pin(), rank)] = true;
  return named;
}

// The size that two sizes broadcast to.
inline Size broadcast(const Size& a, const Size& b) {
  if (Size::always_equal(a, b) || b == 1) return a;
  if (a == 1) return b;
  require(a == b);
  return a;
}
inline Dims broadcast(const Dims& a, const Dims& b) {
  if (a.size() < b.size()) return broadcast(b, a);
  Dims sizes = a;
  const std::size_t first = a.size() - b.size();
  for (std::size_t d = 0; d < b.size(); ++d) sizes[first + d] = broadcast(a[first + d], b[d]);
  return sizes;
}

// Whether an operand of the first sizes broadcasts to these as they are.
inline bool broadcasts_to(const Dims& sizes, const Dims& target) {
  if (sizes.size() > target.size()) return false;
  const std::size_t first = target.size() - sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const Size& wanted = target[first + d];
    if (!Size::always_equal(sizes[d], wanted) && sizes[d] != 1 && !require(sizes[d] == wanted)) return false;
  }
  return true;
}

// Whether TensorIterator iterates over the operand in the order of its dimensions: outer strides are larger.
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

// Whether the elements do not fill a contiguous range of memory. Dimensions of size 1 are ignored, as in
// c10::TensorImpl::compute_non_overlapping_and_dense.
inline bool has_gap(const TensorLayout& layout) {
  std::vector<std::size_t> rest;
  for (std::size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] > 1) rest.push_back(d);
  }
  Size run = 1;  // elements of the dimensions that are known to be contiguous
  while (!rest.empty()) {
    const auto next = std::ranges::find_if(rest, [&](std::size_t d) { return layout.strides[d] == run; });
    if (next == rest.end()) return true;
    run *= layout.sizes[*next];
    rest.erase(next);
  }
  return false;
}

// For tensors of equal sizes. If all are contiguous and no operand is a number, the result is contiguous,
// whatever the strides of dimensions of size 1 are (TensorIteratorBase::compute_fast_setup_type). If all have
// the same strides, the dimensions of the result lie in the same order as theirs.
inline bool like_all(LayoutRule& rule) {
  std::optional<TensorLayout> first;
  bool is_alike = true, is_contiguous = true, has_number = false;
  for (std::size_t i = 0; i < rule.input_count(); ++i) {
    has_number |= rule.value(i).isScalar();
    if (!rule.has_tensor(i)) continue;
    const TensorLayout& operand = rule.tensor(i);
    if (!first) first = operand;
    if (!always_equal(first->sizes, operand.sizes)) return false;
    is_alike = is_alike && always_equal(first->strides, operand.strides);
    is_contiguous = is_contiguous && is_dense(operand);
  }
  if (!first) return false;
  if (is_contiguous && !has_number) {
    rule.dense(first->sizes);
    return true;
  }
  const auto strides = is_alike && !is_contiguous ? dense_in_same_order(*first) : std::nullopt;
  if (strides) rule.fresh({first->sizes, *strides, 0});
  return strides.has_value();
}

// Broadcasts all tensors among the inputs.
inline bool pointwise(LayoutRule& rule) {
  std::optional<Dims> sizes;
  for (std::size_t i = 0; i < rule.input_count(); ++i) {
    if (rule.value(i).isInt()) rule.compute_with(i);
    if (!rule.has_tensor(i)) continue;
    const TensorLayout& operand = rule.tensor(i);
    if (!is_in_order(operand)) return like_all(rule);
    sizes = sizes ? broadcast(*sizes, operand.sizes) : operand.sizes;
  }
  if (!sizes) return false;
  rule.dense(*sizes);
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

// A new tensor like the first input.
inline bool like_first(LayoutRule& rule) {
  const TensorLayout& first = rule.tensor(0);
  if (!is_dense(first)) return false;
  rule.dense(first.sizes);
  return true;
}

// glu(x, dim)
inline bool half_of_dim(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (sizes.empty() || !is_dense(rule.tensor(0))) return false;
  Size& size = sizes[rule.dim(1, sizes.size())];
  if (!require(size % 2 == 0)) return false;
  size = size / 2;
  rule.dense(std::move(sizes));
  return true;
}

}  // namespace sr::replay::layouts
