// Layouts of what the operators of FBGEMM on jagged tensors return.
#pragma once

#include <cstddef>
#include <utility>

#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// asynchronous_complete_cumsum(lengths): a sum more than lengths, in each row.
inline bool complete_cumsum(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (sizes.empty()) return false;
  sizes.back() = sizes.back() + 1;
  rule.dense(std::move(sizes));
  return true;
}

// Sizes of the rows of `values`, one for each offset but the last, padded to `longest`.
inline bool padded_rows(LayoutRule& rule, const TensorLayout& offsets, const Size& longest) {
  const Dims& values = rule.tensor(0).sizes;
  if (offsets.sizes.size() != 1 || values.empty() || values.size() > 2) return false;
  const Size rows = offsets.sizes[0] - 1;
  if (!require(rows >= 0)) return false;
  Dims sizes{rows, longest};
  if (values.size() == 2) sizes.push_back(values[1]);
  rule.dense(std::move(sizes));
  return true;
}

// jagged_to_padded_dense(values, offsets, max_lengths, padding) of one jagged dimension.
inline bool jagged_to_padded_dense(LayoutRule& rule) {
  if (rule.tensors(1).size() != 1 || rule.integers(2).size() != 1) return false;
  return padded_rows(rule, rule.tensors(1)[0], rule.integers(2)[0]);
}

// jagged_1d_to_dense and jagged_2d_to_dense(values, offsets, max_sequence_length, ...)
inline bool jagged_rows_to_dense(LayoutRule& rule) {
  return padded_rows(rule, rule.tensor(1), rule.integer(2));
}

// bounds_check_indices(rows, indices, offsets, mode, warning, weights, ...): returns nothing, and reads
// tensors of any sizes.
inline bool bounds_check(LayoutRule& rule) {
  for (const std::size_t i : {0, 1, 2, 4, 5}) {
    if (rule.has_tensor(i)) rule.tensor(i);
  }
  return true;
}

// int_nbit_split_embedding_codegen_lookup_function, with D_offsets as argument 5, total_D as 6, indices as
// 12, offsets as 13 and pooling_mode as 14. With pooling, the result has a row for each bag and total_D
// columns. Without pooling (mode 2) it has a row for each index, and the rule does not apply.
inline bool pooled_lookup(LayoutRule& rule) {
  constexpr std::int64_t kNoPooling = 2;
  const Dims &tables = rule.tensor(5).sizes, &offsets = rule.tensor(13).sizes;
  if (rule.value(14).toInt() == kNoPooling || rule.has_tensor(15)) return false;
  if (tables.size() != 1 || offsets.size() != 1 || rule.tensor(12).sizes.size() != 1) return false;
  const Size count = tables[0] - 1;
  if (!require(count > 0) || !require(offsets[0] > 0)) return false;
  rule.dense({(offsets[0] - 1) / count, rule.integer(6)});
  return true;
}

}  // namespace sr::replay::layouts
