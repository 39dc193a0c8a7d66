// Layouts of what reductions, sorting and distances return.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

inline bool reduced(LayoutRule& rule, const Dims& dims, bool all, bool keep) {
  const TensorLayout& self = rule.tensor(0);
  if (self.sizes.empty()) return false;
  const std::vector<bool> is_reduced =
      all ? std::vector<bool>(self.sizes.size(), true) : are_named(dims, self.sizes.size());
  Dims sizes;
  for (std::size_t d = 0; d < self.sizes.size(); ++d) {
    if (!is_reduced[d]) sizes.push_back(self.sizes[d]);
    if (is_reduced[d] && keep) sizes.push_back(1);
  }
  rule.dense(std::move(sizes));
  return true;
}

// Reductions whose argument kDims holds the dimensions, and argument kKeep is keepdim. An empty list or None
// stands for all dimensions.
template <std::size_t kDims, std::size_t kKeep = kDims + 1>
bool reduce_dims_at(LayoutRule& rule) {
  const Dims dims = rule.value(kDims).isNone() ? Dims() : rule.integers(kDims);
  return reduced(rule, dims, dims.empty(), rule.value(kKeep).toBool());
}
// sum(x, dims, keepdim, ...), mean, amax, argmax
inline bool reduce_dims(LayoutRule& rule) {
  return reduce_dims_at<1>(rule);
}
// Two results of a reduction: max(x, dim, keepdim), min, mode and median return values and their indices;
// kthvalue(x, k, dim, keepdim) too; var_mean(x, dims, correction, keepdim) returns both.
template <std::size_t kDims = 1, std::size_t kKeep = kDims + 1>
bool reduce_dims_twice_at(LayoutRule& rule) {
  return reduce_dims_at<kDims, kKeep>(rule) && reduce_dims_at<kDims, kKeep>(rule);
}
// count_nonzero(x, dims), where one dimension may be None; trapezoid(x, dx, dim)
template <std::size_t kDims = 1>
bool reduce_dims_away(LayoutRule& rule) {
  const Dims dims = rule.value(kDims).isNone() ? Dims() : rule.integers(kDims);
  return reduced(rule, dims, dims.empty(), false);
}
// sum(x, ...): of all elements
inline bool reduce_all(LayoutRule& rule) {
  return reduced(rule, {}, true, false);
}

// var_mean(x, unbiased) and std_mean, of all elements
inline bool reduce_all_twice(LayoutRule& rule) {
  return reduce_all(rule) && reduce_all(rule);
}
// cosine_similarity(x, y, dim, eps), a sum over one dimension of both, broadcast
inline bool cosine_similarity(LayoutRule& rule) {
  Dims sizes = broadcast(rule.tensor(0).sizes, rule.tensor(1).sizes);
  if (sizes.empty()) return false;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(rule.dim(2, sizes.size())));
  rule.dense(std::move(sizes));
  return true;
}
// pairwise_distance(x, y, p, eps, keepdim), a norm of the last dimension of both, broadcast
inline bool pairwise_distance(LayoutRule& rule) {
  Dims sizes = broadcast(rule.tensor(0).sizes, rule.tensor(1).sizes);
  if (sizes.empty()) return false;
  sizes.pop_back();
  if (rule.value(4).toBool()) sizes.push_back(1);
  rule.dense(std::move(sizes));
  return true;
}
// cov(x, correction, fweights, aweights) and corrcoef(x), whose rows are variables
inline bool covariance(LayoutRule& rule) {
  const Dims x = rule.tensor(0).sizes;
  if (x.size() != 2 || !require(x[0] > 1) || rule.has_tensor(2) || rule.has_tensor(3)) return false;
  rule.dense({x[0], x[0]});
  return true;
}

// cummax(x, ...): the values, and their indices
inline bool like_first_twice(LayoutRule& rule) {
  return like_first(rule) && like_first(rule);
}
// sort(x, ...): the values, and their indices
inline bool copied_in_order_twice(LayoutRule& rule) {
  return copy_in_order(rule) && copy_in_order(rule);
}

// topk(x, k, dim, ...)
inline bool topk(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (sizes.empty()) return false;
  Size& size = sizes[rule.dim(2, sizes.size())];
  const Size& count = rule.integer(1);
  if (!require(count >= 0) || !require(count <= size)) return false;
  size = count;
  rule.dense(sizes);
  rule.dense(std::move(sizes));
  return true;
}

// cdist(x, y, ...) of equal batches
inline bool cdist(LayoutRule& rule) {
  const Dims &x = rule.tensor(0).sizes, &y = rule.tensor(1).sizes;
  const std::size_t rank = x.size();
  if (rank < 2 || y.size() != rank || !require(x[rank - 1] == y[rank - 1])) return false;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (!require(x[d] == y[d])) return false;
  }
  Dims sizes = x;
  sizes[rank - 1] = y[rank - 2];
  rule.dense(std::move(sizes));
  return true;
}

// histc(x, bins, ...)
inline bool histogram(LayoutRule& rule) {
  rule.tensor(0);
  if (!require(rule.integer(1) >= 1)) return false;
  rule.dense({rule.integer(1)});
  return true;
}

}  // namespace sr::replay::layouts
