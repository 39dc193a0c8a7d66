// Layouts of what attention returns.
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

// scaled_dot_product_attention(query, key, value, mask, ...): in the order of dimensions, or, as LibTorch's
// fused kernel makes it, with the heads behind the rows.
inline bool attention(LayoutRule& rule) {
  const Dims &query = rule.tensor(0).sizes, &key = rule.tensor(1).sizes, &value = rule.tensor(2).sizes;
  const std::size_t rank = query.size();
  if (rank < 2 || key.size() != rank || value.size() != rank) return false;
  if (!require(query.back() == key.back()) || !require(key[rank - 2] == value[rank - 2])) return false;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (!require(key[d] == query[d]) || !require(value[d] == query[d])) return false;
  }
  Dims scores = query;
  scores.back() = key[rank - 2];
  if (rule.has_tensor(3) && !broadcasts_to(rule.tensor(3).sizes, scores)) return false;
  Dims sizes = query;
  sizes.back() = value.back();
  if (rank != 4 || rule.returned().is_dense) {
    rule.dense(std::move(sizes));
    return true;
  }
  rule.dense_transposed(std::move(sizes), 1, 2);
  return true;
}

}  // namespace sr::replay::layouts
