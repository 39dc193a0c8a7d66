// Layouts of what attention returns.
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

// scaled_dot_product_attention(query, key, value, mask, ...): LibTorch's fused kernel, which needs four
// dimensions and values as wide as queries, lays the result out like the queries. Otherwise it is dense.
inline bool attention(LayoutRule& rule) {
  const Dims &query = rule.tensor(0).sizes, &key = rule.tensor(1).sizes, &value = rule.tensor(2).sizes;
  const std::size_t rank = query.size();
  if (rank < 2 || key.size() != rank || value.size() != rank) return false;
  if (!require(query.back() == key.back()) || !require(key[rank - 2] == value[rank - 2])) return false;
  const bool is_grouped = rule.value(7).toBool();
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (!require(value[d] == key[d])) return false;
    const bool fits = is_grouped && d + 3 == rank ? require(key[d] > 0) && require(query[d] % key[d] == 0)
                                                  : require(key[d] == query[d]);
    if (!fits) return false;
  }
  Dims scores = query;
  scores.back() = key[rank - 2];
  if (rule.has_tensor(3) && !broadcasts_to(rule.tensor(3).sizes, scores)) return false;
  Dims sizes = query;
  sizes.back() = value.back();
  const TensorLayout dense{sizes, dense_strides(sizes), 0};
  const auto like_query =
      rank == 4 && require(value.back() == query.back()) ? copied_in_order(rule.tensor(0)) : std::nullopt;
  return rule.laid_out_as_recorded({like_query.value_or(dense), dense});
}

}  // namespace sr::replay::layouts
