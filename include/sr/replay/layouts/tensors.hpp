// Layouts of joined tensors, reductions, norms and look-ups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sr/replay/layouts/pointwise.hpp>

namespace sr::replay::layouts {

// cat(tensors, dim), stack(tensors, dim), also with the tensors one by one
inline bool join(LayoutRule& rule, bool stacks) {
  std::vector<TensorLayout> parts;
  for (std::size_t i = 0; i + 1 < rule.input_count(); ++i)
    parts.insert(parts.end(), rule.tensors(i).begin(), rule.tensors(i).end());
  if (parts.empty()) return false;
  Dims sizes = parts[0].sizes;
  const std::size_t rank = sizes.size() + (stacks ? 1 : 0);
  if (rank == 0) return false;
  const std::size_t dim = rule.dim(rule.input_count() - 1, rank);
  Size joined = 0;
  for (const TensorLayout& part : parts) {
    if (part.sizes.size() != sizes.size() || !is_in_order(part)) return false;  // may be channels last
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if ((stacks || d != dim) && !require(part.sizes[d] == sizes[d])) return false;
    }
    joined += stacks ? Size(1) : part.sizes[dim];
  }
  if (stacks) sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), joined);
  sizes[dim] = joined;
  rule.dense(std::move(sizes));
  return true;
}
inline bool cat(LayoutRule& rule) {
  return join(rule, false);
}
inline bool stack(LayoutRule& rule) {
  return join(rule, true);
}

inline bool reduced(LayoutRule& rule, const Dims& dims, bool all, bool keep) {
  const TensorLayout& self = rule.tensor(0);
  if (!is_dense(self) || self.sizes.empty()) return false;
  const auto rank = static_cast<std::int64_t>(self.sizes.size());
  std::vector<bool> is_reduced(self.sizes.size(), all);
  for (const Size& dim : dims) {
    const std::int64_t d = dim.pin();
    is_reduced[static_cast<std::size_t>(d < 0 ? d + rank : d)] = true;
  }
  Dims sizes;
  for (std::size_t d = 0; d < self.sizes.size(); ++d) {
    if (!is_reduced[d]) sizes.push_back(self.sizes[d]);
    if (is_reduced[d] && keep) sizes.push_back(1);
  }
  rule.dense(std::move(sizes));
  return true;
}

// Reductions over dimensions: sum(x, dims, keepdim, ...), mean, amax.
inline bool reduce_dims(LayoutRule& rule) {
  const Dims dims = rule.value(1).isNone() ? Dims() : rule.integers(1);
  return reduced(rule, dims, dims.empty(), rule.value(2).toBool());
}
// sum(x, ...): of all elements
inline bool reduce_all(LayoutRule& rule) {
  return reduced(rule, {}, true, false);
}

// layer_norm(x, normalized_shape, weight, bias, ...), rms_norm(x, normalized_shape, weight, eps)
inline bool norm_of_last(LayoutRule& rule) {
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
  return like_first(rule);
}

// embedding(weight, indices, ...)
inline bool embedding(LayoutRule& rule) {
  const TensorLayout& weight = rule.tensor(0);
  if (weight.sizes.size() != 2) return false;
  Dims sizes = rule.tensor(1).sizes;
  sizes.push_back(weight.sizes[1]);
  rule.dense(std::move(sizes));
  return true;
}

// index_select(x, dim, index)
inline bool index_select(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  const Dims& index = rule.tensor(2).sizes;
  if (sizes.empty() || index.size() != 1 || !is_dense(rule.tensor(0))) return false;
  sizes[rule.dim(1, sizes.size())] = index[0];
  rule.dense(std::move(sizes));
  return true;
}

// gather(x, dim, index, ...)
inline bool gather(LayoutRule& rule) {
  const Dims& sizes = rule.tensor(0).sizes;
  const TensorLayout& index = rule.tensor(2);
  if (!is_dense(index) || sizes.empty() || index.sizes.size() != sizes.size()) return false;
  const std::size_t dim = rule.dim(1, sizes.size());
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d != dim && !require(index.sizes[d] <= sizes[d])) return false;
  }
  rule.dense(index.sizes);
  return true;
}

}  // namespace sr::replay::layouts
