// Layouts of what embeddings return.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// embedding(weight, indices, ...)
inline bool embedding(LayoutRule& rule) {
  const TensorLayout& weight = rule.tensor(0);
  if (weight.sizes.size() != 2) return false;
  Dims sizes = rule.tensor(1).sizes;
  sizes.push_back(weight.sizes[1]);
  rule.dense(std::move(sizes));
  return true;
}

// The first result of those below.
inline bool bags(LayoutRule& rule) {
  const Dims &table = rule.tensor(0).sizes, &indices = rule.tensor(1).sizes, &offsets = rule.tensor(2).sizes;
  if (table.size() != 2 || indices.size() != 1 || offsets.size() != 1) return false;
  if (rule.has_tensor(6) &&
      !(rule.tensor(6).sizes.size() == 1 && require(rule.tensor(6).sizes[0] == indices[0])))
    return false;
  const Size bags = rule.value(7).toBool() ? offsets[0] - 1 : offsets[0];
  if (!require(bags >= 0)) return false;
  rule.dense({bags, table[1]});
  return true;
}

// sr::part_starts(lengths, whole, checks, messages)
inline bool part_starts(LayoutRule& rule) {
  const Dims& lengths = rule.tensor(0).sizes;
  if (lengths.size() != 1 || rule.tensor(1).sizes.size() != 1) return false;
  rule.dense({lengths[0] + 1});
  return true;
}

// embedding_bag(weight, indices, offsets, scale, mode, sparse, weights of samples, include_last_offset, ...)
inline bool embedding_bag(LayoutRule& rule) {
  if (!bags(rule)) return false;
  const Dims &table = rule.tensor(0).sizes, &indices = rule.tensor(1).sizes, &offsets = rule.tensor(2).sizes;
  const Size bags = rule.value(7).toBool() ? offsets[0] - 1 : offsets[0];
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

}  // namespace sr::replay::layouts
