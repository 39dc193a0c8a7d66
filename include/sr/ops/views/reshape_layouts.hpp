// Rules for operators that change the sizes and keep the elements: view, reshape, flatten, unflatten, ravel.
#pragma once

#include <cstddef>
#include <utility>

#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/reshape.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// Returns the sizes passed to view or reshape, with -1 replaced by the size that it stands for.
inline Dims wanted_sizes(Dims wanted, const Size& count) {
  Size known = 1;
  Size* unknown = nullptr;
  for (Size& size : wanted) {
    if (size == -1) {
      unknown = &size;
    } else {
      known *= size;
    }
  }
  if (unknown == nullptr || known == 0) return wanted;
  require(count % known == 0);
  *unknown = count / known;
  return wanted;
}

inline bool viewed_as(LayoutRule& rule, const Dims& wanted, bool may_copy) {
  const TensorLayout& self = rule.tensor(0);
  if (!require(product_of(wanted) == product_of(self.sizes))) return false;
  if (const auto strides = strides_of_view(self.sizes, self.strides, wanted)) {
    rule.view(0, {wanted, *strides, self.offset});
    return true;
  }
  if (may_copy) rule.dense(wanted);
  return may_copy;
}

// view(x, size)
inline bool view(LayoutRule& rule) {
  return viewed_as(rule, wanted_sizes(rule.integers(1), product_of(rule.tensor(0).sizes)), false);
}

// reshape(x, size) returns a view if the strides allow it, and a copy otherwise.
inline bool reshape(LayoutRule& rule) {
  return viewed_as(rule, wanted_sizes(rule.integers(1), product_of(rule.tensor(0).sizes)), true);
}

// view_as(x, other)
inline bool view_as(LayoutRule& rule) {
  return viewed_as(rule, rule.tensor(1).sizes, false);
}
// reshape_as(x, other)
inline bool reshape_as(LayoutRule& rule) {
  return viewed_as(rule, rule.tensor(1).sizes, true);
}

// ravel(x) flattens x.contiguous().
inline bool ravel(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  Dims all{product_of(self.sizes)};
  if (is_dense(self)) {
    rule.view(0, {std::move(all), {1}, self.offset});
  } else {
    rule.dense(std::move(all));
  }
  return true;
}

// atleast_1d(x), atleast_2d, atleast_3d. A tensor with at least kRank dimensions is returned unchanged.
// atleast_3d makes a matrix (m, n) to (m, n, 1) and a vector (n) to (1, n, 1).
template <std::size_t kRank>
bool at_least(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  const std::size_t rank = self.sizes.size();
  if (rank >= kRank) {
    rule.same(0);
    return true;
  }
  if (rank == 0) {
    rule.view(0, {Dims(kRank, 1), Dims(kRank, 1), self.offset});
    return true;
  }
  TensorLayout layout = rank == 1 ? unsqueezed(self, 0) : self;
  if (kRank == 3) layout = unsqueezed(std::move(layout), 2);
  rule.view(0, std::move(layout));
  return true;
}

// flatten(x, start, end)
inline bool flatten(LayoutRule& rule) {
  const c10::ArrayRef<Size> sizes = rule.tensor(0).sizes;
  if (sizes.empty()) return false;
  const std::size_t first = rule.dim(1, sizes.size()), last = rule.dim(2, sizes.size());
  if (first == last) {
    rule.same(0);
    return true;
  }
  Dims wanted(sizes.slice(0, first));
  wanted.push_back(product_of(sizes.slice(first, last - first + 1)));
  const auto rest = sizes.slice(last + 1);
  wanted.append(rest.begin(), rest.end());
  return viewed_as(rule, wanted, true);
}

// unflatten(x, dim, sizes)
inline bool unflatten(LayoutRule& rule) {
  const c10::ArrayRef<Size> sizes = rule.tensor(0).sizes;
  if (sizes.empty()) return false;
  const std::size_t dim = rule.dim(1, sizes.size());
  const Dims parts = wanted_sizes(rule.integers(2), sizes[dim]);
  Dims wanted(sizes.slice(0, dim));
  wanted.append(parts.begin(), parts.end());
  const auto rest = sizes.slice(dim + 1);
  wanted.append(rest.begin(), rest.end());
  return viewed_as(rule, wanted, false);
}

}  // namespace sr::replay::layouts
