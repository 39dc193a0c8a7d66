// Layouts of views that are parts of one dimension each: split, chunk, unbind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sr/replay/layouts/views.hpp>

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
