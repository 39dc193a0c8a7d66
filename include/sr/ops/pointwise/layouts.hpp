// Layouts of pointwise operators that `layouts::pointwise` does not fit.
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

// rsub(x, y) computes y - x, so y is the first operand of the iterator.
inline bool pointwise_reversed(LayoutRule& rule) {
  return iterate(rule, {rule.tensor(1), rule.tensor(0)});
}

// diff(x, n, dim, prepend, append) of one step
inline bool difference(LayoutRule& rule) {
  if (rule.has_tensor(3) || rule.has_tensor(4) || rule.integer(1).pin() != 1) return false;
  TensorLayout part = rule.tensor(0);
  if (part.sizes.empty()) return false;
  Size& size = part.sizes[rule.dim(2, part.sizes.size())];
  if (!require(size >= 2)) return false;
  size = size - 1;
  return iterate(rule, {part, part});
}

// glu(x, dim)
inline bool half_of_dim(LayoutRule& rule) {
  TensorLayout half = rule.tensor(0);
  if (half.sizes.empty()) return false;
  Size& size = half.sizes[rule.dim(1, half.sizes.size())];
  if (!require(size % 2 == 0)) return false;
  size = size / 2;
  return iterate(rule, {half, half});
}

}  // namespace sr::replay::layouts
