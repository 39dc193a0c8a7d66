// Layouts of joined tensors, reductions, norms and searches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/layouts/pointwise.hpp>

namespace sr::replay::layouts {

// cat(tensors, dim), also with the tensors one by one. The result is contiguous, unless all tensors are
// channels last (cat_compute_output_memory_format in ATen/native/TensorShape.cpp).
inline std::optional<TensorLayout> joined(const std::vector<TensorLayout>& parts, std::size_t dim) {
  Dims sizes = parts[0].sizes;
  Size along = 0;
  for (const TensorLayout& part : parts) {
    if (part.sizes.size() != sizes.size()) return std::nullopt;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (d != dim && !require(part.sizes[d] == sizes[d])) return std::nullopt;
    }
    along += part.sizes[dim];
  }
  sizes[dim] = along;
  const bool is_last = std::ranges::all_of(parts, is_channels_last);
  Dims strides = is_last ? channels_last_strides(sizes) : dense_strides(sizes);
  return TensorLayout{std::move(sizes), std::move(strides), 0};
}
inline std::vector<TensorLayout> parts_to_join(LayoutRule& rule) {
  std::vector<TensorLayout> parts;
  for (std::size_t i = 0; i + 1 < rule.input_count(); ++i)
    parts.insert(parts.end(), rule.tensors(i).begin(), rule.tensors(i).end());
  return parts;
}
inline bool cat(LayoutRule& rule) {
  const std::vector<TensorLayout> parts = parts_to_join(rule);
  if (parts.empty() || parts[0].sizes.empty()) return false;
  return rule.fresh_if_known(joined(parts, rule.dim(rule.input_count() - 1, parts[0].sizes.size())));
}

// stack(tensors, dim), which is a view of cat(tensors, dim) unless the dimension is the last one (stack in
// ATen/native/TensorShape.cpp)
inline bool stack(LayoutRule& rule) {
  std::vector<TensorLayout> parts = parts_to_join(rule);
  if (parts.empty()) return false;
  const std::size_t rank = parts[0].sizes.size(), dim = rule.dim(rule.input_count() - 1, rank + 1);
  const Dims sizes = parts[0].sizes;
  const auto fits = [&](const TensorLayout& part) { return are_equal(part.sizes, sizes); };
  if (!std::ranges::all_of(parts, fits)) return false;
  if (dim == rank) {
    for (TensorLayout& part : parts) part = unsqueezed(std::move(part), dim);
  }
  auto layout = joined(parts, dim);
  if (!layout) return false;
  if (dim < rank) {
    const auto at = static_cast<std::ptrdiff_t>(dim);
    layout->strides.insert(layout->strides.begin() + at, sizes[dim] * layout->strides[dim]);
    layout->sizes.insert(layout->sizes.begin() + at, Size(static_cast<std::int64_t>(parts.size())));
    layout->sizes[dim + 1] = sizes[dim];
  }
  rule.fresh(*std::move(layout));
  return true;
}

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

// Reductions whose argument kDims holds the dimensions, and argument kKeep is keepdim. No dimensions, or
// None, mean all of them.
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

// True if the arguments (x, normalized_shape, weight, bias, ...) of a norm over the last dimensions fit.
inline bool normalizes_last(LayoutRule& rule) {
  const Dims normalized = rule.integers(1);
  const auto ends_with = [&](const Dims& sizes) {
    if (sizes.size() < normalized.size()) return false;
    const std::size_t first = sizes.size() - normalized.size();
    for (std::size_t d = 0; d < normalized.size(); ++d) {
      if (!require(sizes[first + d] == normalized[d])) return false;
    }
    return true;
  };
  if (!ends_with(rule.tensor(0).sizes)) return false;
  for (std::size_t i = 2; i < rule.input_count(); ++i) {
    if (!rule.has_tensor(i)) continue;
    const Dims& scales = rule.tensor(i).sizes;
    if (scales.size() != normalized.size() || !ends_with(scales)) return false;
  }
  return true;
}

// layer_norm(x, normalized_shape, weight, bias, ...)
inline bool norm_of_last(LayoutRule& rule) {
  return normalizes_last(rule) && like_first(rule);
}

// rms_norm(x, normalized_shape, weight, eps), which is x * rsqrt(means of rows) * weight
inline bool rms_norm(LayoutRule& rule) {
  if (!normalizes_last(rule)) return false;
  const TensorLayout x = rule.tensor(0);
  if (is_dense(x)) return like_first(rule);
  Dims rows = x.sizes;
  for (std::size_t i = 1; i <= rule.integers(1).size(); ++i) rows[rows.size() - i] = 1;
  std::optional<TensorLayout> scaled = iterated_over({x, {rows, dense_strides(rows), 0}});
  if (scaled && rule.has_tensor(2)) scaled = iterated_over({*scaled, rule.tensor(2)});
  return rule.fresh_if_known(scaled);
}

// native_layer_norm(x, normalized_shape, weight, bias, eps), which also returns the mean and the reciprocal
// deviation of each row
inline bool native_layer_norm(LayoutRule& rule) {
  if (!norm_of_last(rule)) return false;
  Dims statistics = rule.tensor(0).sizes;
  std::fill(statistics.end() - static_cast<std::ptrdiff_t>(rule.integers(1).size()), statistics.end(),
            Size(1));
  rule.dense(statistics);
  rule.dense(statistics);
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

}  // namespace sr::replay::layouts
