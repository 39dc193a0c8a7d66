// Rules for operators that cut one dimension into views: split, chunk, tensor_split, unbind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sr/ops/views/layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// Parts of `step` elements, of which the last may be shorter. There are as many as in the recorded call.
inline bool equal_parts(LayoutRule& rule, std::size_t dim, const Size& step) {
  const Size size = rule.tensor(0).sizes[dim];
  const std::size_t count = rule.returned().sizes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Size start = step * i, length = i + 1 < count ? step : size - start;
    if (i + 1 == count && (!require(length > 0) || !require(length <= step))) return false;
    part(rule, dim, start, length, 1);
  }
  return count != 0;
}

// split(x, size, dim)
inline bool split(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(0).sizes.size();
  if (rank == 0) return false;
  const Size step = rule.integer(1);
  return require(step > 0) && equal_parts(rule, rule.dim(2, rank), step);
}

// chunk(x, count, dim)
inline bool chunk(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(0).sizes.size();
  if (rank == 0) return false;
  const std::size_t dim = rule.dim(2, rank);
  const std::int64_t count = rule.integer(1).pin();
  return equal_parts(rule, dim, (rule.tensor(0).sizes[dim] + (count - 1)) / count);
}

// split_with_sizes(x, sizes, dim)
inline bool split_with_sizes(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(0).sizes.size();
  if (rank == 0) return false;
  const std::size_t dim = rule.dim(2, rank);
  Size start = 0;
  for (const Size& length : rule.integers(1)) {
    if (!require(length >= 0)) return false;
    part(rule, dim, start, length, 1);
    start += length;
  }
  return require(start == rule.tensor(0).sizes[dim]);
}

// tensor_split(x, count, dim). If the size is not divisible by `count`, the first parts have one element
// more.
inline bool even_parts(LayoutRule& rule, std::size_t dim, std::int64_t count) {
  const Size size = rule.tensor(0).sizes[dim];
  if (count < 1) return false;
  const Size least = size / count, longer = size % count;
  Size start = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Size length = longer > i ? least + 1 : least;
    part(rule, dim, start, length, 1);
    start += length;
  }
  return true;
}
// tensor_split(x, indices, dim). Each part ends at the next index.
inline bool parts_between(LayoutRule& rule, std::size_t dim, const Dims& indices) {
  const Size size = rule.tensor(0).sizes[dim];
  Size start = 0;
  for (std::size_t i = 0; i <= indices.size(); ++i) {
    const Size end = i < indices.size() ? within(indices[i], size) : size;
    part(rule, dim, start, end > start ? end - start : Size(0), 1);
    if (i < indices.size()) start = end;
  }
  return true;
}
inline bool tensor_split(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(0).sizes.size();
  return rank != 0 && even_parts(rule, rule.dim(2, rank), rule.integer(1).pin());
}
inline bool tensor_split_at(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(0).sizes.size();
  return rank != 0 && parts_between(rule, rule.dim(2, rank), rule.integers(1));
}

// hsplit, vsplit and dsplit split dimension 1, 0 and 2. hsplit splits the only dimension of a vector. kAt is
// true for the overload with indices.
template <std::size_t kDim, bool kAt>
bool split_dim(LayoutRule& rule) {
  const Dims sizes = rule.tensor(0).sizes;
  const std::size_t dim = kDim == 1 && sizes.size() == 1 ? 0 : kDim;
  if (sizes.size() <= dim) return false;
  if constexpr (kAt) {
    return parts_between(rule, dim, rule.integers(1));
  } else {
    const std::int64_t count = rule.integer(1).pin();
    return count > 0 && require(sizes[dim] % count == 0) && even_parts(rule, dim, count);
  }
}

// unbind(x, dim)
inline bool unbind(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  if (self.sizes.empty()) return false;
  const std::size_t dim = rule.dim(1, self.sizes.size());
  const std::int64_t count = self.sizes[dim].pin();
  for (std::int64_t i = 0; i < count; ++i) {
    TensorLayout layout = self;
    layout.offset += layout.strides[dim] * i;
    erase_dim(layout, dim);
    rule.view(0, std::move(layout));
  }
  return true;
}

}  // namespace sr::replay::layouts
