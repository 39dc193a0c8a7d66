// Layouts of joined tensors, reductions, norms and look-ups.
#pragma once

#include <algorithm>
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
// max(x, dim, keepdim), min: the values, and their indices
inline bool reduce_dim_twice(LayoutRule& rule) {
  return reduce_dims(rule) && reduce_dims(rule);
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

// embedding(weight, indices, ...)
inline bool embedding(LayoutRule& rule) {
  const TensorLayout& weight = rule.tensor(0);
  if (weight.sizes.size() != 2) return false;
  Dims sizes = rule.tensor(1).sizes;
  sizes.push_back(weight.sizes[1]);
  rule.dense(std::move(sizes));
  return true;
}

// embedding_bag(weight, indices, offsets, scale, mode, sparse, weights of samples, include_last_offset, ...)
inline bool embedding_bag(LayoutRule& rule) {
  const Dims &table = rule.tensor(0).sizes, &indices = rule.tensor(1).sizes, &offsets = rule.tensor(2).sizes;
  if (table.size() != 2 || indices.size() != 1 || offsets.size() != 1) return false;
  if (rule.has_tensor(6) &&
      !(rule.tensor(6).sizes.size() == 1 && require(rule.tensor(6).sizes[0] == indices[0])))
    return false;
  const Size bags = rule.value(7).toBool() ? offsets[0] - 1 : offsets[0];
  if (!require(bags >= 0)) return false;
  rule.dense({bags, table[1]});
  // LibTorch returns three tensors more, for the backward pass. The mode and the dtypes decide which of these
  // sizes each of them has.
  return rule.dense_as_recorded({{0}, {indices[0]}}) && rule.dense_as_recorded({{0}, {bags}, {offsets[0]}}) &&
         rule.dense_as_recorded({{0}, {bags}, {offsets[0]}, {bags, table[1]}});
}

// embedding_bag_*_rowwise_offsets(weight, indices, offsets, scale, mode, pruned, weights of samples, mapping,
// include_last_offset), of rows with kBits an element and a scale and a bias behind them.
template <int kBits>
bool quantized_embedding_bag(LayoutRule& rule) {
  const TensorLayout& table = rule.tensor(0);
  const Dims& indices = rule.tensor(1).sizes;
  if (table.sizes.size() != 2 || rule.has_tensor(7)) return false;
  Size bags;
  if (!rule.has_tensor(2)) {  // a row of indices is a bag
    if (indices.size() != 2 || rule.has_tensor(6)) return false;
    bags = indices[0];
  } else {
    const Dims& offsets = rule.tensor(2).sizes;
    if (indices.size() != 1 || offsets.size() != 1) return false;
    if (rule.has_tensor(6) &&
        !(rule.tensor(6).sizes.size() == 1 && require(rule.tensor(6).sizes[0] == indices[0])))
      return false;
    bags = rule.value(8).toBool() ? offsets[0] - 1 : offsets[0];
    if (!require(bags >= 0)) return false;
  }
  rule.dense({bags, kBits == 8 ? table.sizes[1] - 8 : (table.sizes[1] - 4) * 2});
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

// sort(x, ...): the values, and their indices
inline bool like_first_twice(LayoutRule& rule) {
  return like_first(rule) && like_first(rule);
}

// topk(x, k, dim, ...)
inline bool topk(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (sizes.empty() || !is_dense(rule.tensor(0))) return false;
  Size& size = sizes[rule.dim(2, sizes.size())];
  const Size& count = rule.integer(1);
  if (!require(count >= 0) || !require(count <= size)) return false;
  size = count;
  rule.dense(sizes);
  rule.dense(std::move(sizes));
  return true;
}

// bucketize(x, boundaries, ...)
inline bool bucketize(LayoutRule& rule) {
  rule.tensor(1);
  return like_first(rule);
}

// one_hot(x, classes)
inline bool one_hot(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (!require(rule.integer(1) >= 1)) return false;
  sizes.push_back(rule.integer(1));
  rule.dense(std::move(sizes));
  return true;
}

// Whether an index tensor is at most as large as another tensor, in all dimensions but `dim`.
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
  if (!is_dense(index) || sizes.empty() || !is_within(index.sizes, sizes, rule.dim(1, sizes.size())))
    return false;
  rule.dense(index.sizes);
  return true;
}

// scatter(x, dim, index, value), where the value may be a tensor
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
  if (!is_dense(self) && indices.size() != self.sizes.size()) return false;
  Dims chosen = indices[0].sizes;
  for (const TensorLayout& other : indices) chosen = broadcast(chosen, other.sizes);
  Dims sizes(self.sizes.begin(), self.sizes.begin() + static_cast<std::ptrdiff_t>(first));
  sizes.append(chosen.begin(), chosen.end());
  sizes.append(self.sizes.begin() + static_cast<std::ptrdiff_t>(end), self.sizes.end());
  rule.dense(std::move(sizes));
  return true;
}

}  // namespace sr::replay::layouts
