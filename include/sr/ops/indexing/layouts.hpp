// Layouts of what indices and masks select, and of copies that are changed there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// index_select(x, dim, index)
inline bool index_select(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  const Dims& index = rule.tensor(2).sizes;
  if (sizes.empty() || index.size() != 1) return false;
  sizes[rule.dim(1, sizes.size())] = index[0];
  rule.dense(std::move(sizes));
  return true;
}

// index_add(x, dim, index, source, ...) and index_copy. The result is contiguous and has the sizes of x.
inline bool index_add(LayoutRule& rule) {
  const Dims sizes = rule.tensor(0).sizes, source = rule.tensor(3).sizes;
  const Dims& index = rule.tensor(2).sizes;
  if (sizes.empty() || index.size() != 1 || source.size() != sizes.size()) return false;
  const std::size_t dim = rule.dim(1, sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!require(source[d] == (d == dim ? index[0] : sizes[d]))) return false;
  }
  rule.dense(sizes);
  return true;
}

// index_fill(x, dim, index, value), index_put(x, indices, values, ...): a changed copy of x. Which indices
// fit, and what broadcasts, is left to the operator.
template <std::size_t kIndices>
bool changed_copy(LayoutRule& rule) {
  for (std::size_t i = kIndices; i < rule.input_count(); ++i) {
    if (rule.value(i).isTensor() || rule.value(i).isList()) {
      for (const TensorLayout& each : rule.tensors(i)) pinned(each.sizes);
    }
  }
  return copy_in_order(rule);
}

// take_along_dim(x, index, dim): the sizes of x and the index, broadcast but for the dimension
inline bool take_along_dim(LayoutRule& rule) {
  if (!rule.value(2).isInt()) return false;
  Dims self = rule.tensor(0).sizes, index = rule.tensor(1).sizes;
  if (self.size() != index.size() || self.empty()) return false;
  const std::size_t dim = rule.dim(2, self.size());
  const Size taken = index[dim];
  self[dim] = index[dim] = 1;
  Dims sizes = broadcast(self, index);
  sizes[dim] = taken;
  rule.dense(std::move(sizes));
  return true;
}

// one_hot(x, classes)
inline bool one_hot(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (!require(rule.integer(1) >= 1)) return false;
  sizes.push_back(rule.integer(1));
  rule.dense(std::move(sizes));
  return true;
}

// True if an index tensor is at most as large as another tensor, in all dimensions except `dim`.
inline bool is_within(const Dims& index, const Dims& sizes, std::size_t dim) {
  if (index.size() != sizes.size()) return false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d != dim && !require(index[d] <= sizes[d])) return false;
  }
  return true;
}

// gather(x, dim, index, ...)
inline bool gather(LayoutRule& rule) {
  const Dims& sizes = rule.tensor(0).sizes;
  const TensorLayout& index = rule.tensor(2);
  if (sizes.empty() || !is_within(index.sizes, sizes, rule.dim(1, sizes.size()))) return false;
  rule.dense(index.sizes);
  return true;
}

// scatter(x, dim, index, value), where the value may be a tensor; scatter_add, scatter_reduce
inline bool scatter(LayoutRule& rule) {
  const Dims &sizes = rule.tensor(0).sizes, &index = rule.tensor(2).sizes;
  if (sizes.empty() || !is_within(index, sizes, rule.dim(1, sizes.size()))) return false;
  if (rule.has_tensor(3) && !is_within(index, rule.tensor(3).sizes, sizes.size())) return false;
  return like_first(rule);
}

// index(x, indices): integer indices of dimensions that follow each other
inline bool index(LayoutRule& rule) {
  const TensorLayout& self = rule.tensor(0);
  const std::vector<TensorLayout>& indices = rule.tensors(1);
  if (indices.empty() || !std::ranges::all_of(indices, is_in_order)) return false;
  const auto given = rule.value(1).toListRef();
  std::size_t first = given.size(), end = 0;
  for (std::size_t d = 0; d < given.size(); ++d) {
    if (!given[d].isTensor() || !given[d].toTensor().defined()) continue;
    const c10::ScalarType dtype = given[d].toTensor().scalar_type();
    if (dtype != c10::kLong && dtype != c10::kInt) return false;
    first = std::min(first, d);
    end = d + 1;
  }
  if (end - first != indices.size() || end > self.sizes.size()) return false;
  Dims chosen = indices[0].sizes;
  for (const TensorLayout& other : indices) chosen = broadcast(chosen, other.sizes);
  Dims sizes(self.sizes.begin(), self.sizes.begin() + static_cast<std::ptrdiff_t>(first));
  sizes.append(chosen.begin(), chosen.end());
  sizes.append(self.sizes.begin() + static_cast<std::ptrdiff_t>(end), self.sizes.end());
  if (is_dense(self) || indices.size() == self.sizes.size()) {
    rule.dense(std::move(sizes));
    return true;
  }
  if (std::ranges::any_of(sizes, [](const Size& size) { return size == 1; })) return false;
  // LibTorch iterates over x, which does not move along the chosen dimensions, and the indices, which only do
  // (AdvancedIndex in ATen/native/TensorAdvancedIndexing.cpp).
  TensorLayout moving{
      sizes, Dims(self.strides.begin(), self.strides.begin() + static_cast<std::ptrdiff_t>(first)), 0};
  moving.strides.append(chosen.size(), Size(0));
  moving.strides.append(self.strides.begin() + static_cast<std::ptrdiff_t>(end), self.strides.end());
  std::vector<TensorLayout> operands{std::move(moving)};
  for (TensorLayout each : indices) {
    each.sizes.append(self.sizes.size() - end, Size(1));
    each.strides.append(self.sizes.size() - end, Size(0));
    operands.push_back(std::move(each));
  }
  return iterate(rule, operands);
}

// searchsorted(sorted_sequence, x, ...)
inline bool searchsorted(LayoutRule& rule) {
  const Dims& sorted = rule.tensor(0).sizes;
  const Dims sizes = rule.tensor(1).sizes;
  if (sorted.size() != 1) {
    if (sorted.size() != sizes.size()) return false;
    for (std::size_t d = 0; d + 1 < sizes.size(); ++d) {
      if (!require(sorted[d] == sizes[d])) return false;
    }
  }
  rule.dense(sizes);
  return true;
}

// bucketize(number, boundaries, ...)
inline bool bucketize_number(LayoutRule& rule) {
  if (rule.value(0).isInt()) rule.compute_with(0);
  rule.tensor(1);
  rule.dense({});
  return true;
}

// bucketize(x, boundaries, ...)
inline bool bucketize(LayoutRule& rule) {
  rule.tensor(1);
  return like_first(rule);
}

// index_add_(x, ...), scatter_(x, ...): in-place operators that write some elements of x. They accept other
// tensors of any size and check them when they run.
inline bool changed_in_parts(LayoutRule& rule) {
  for (std::size_t i = 1; i < rule.input_count(); ++i) {
    if (rule.value(i).isTensor() || rule.value(i).isTensorList()) rule.tensors(i);
  }
  rule.same(0);
  return true;
}

}  // namespace sr::replay::layouts
