// Lowers scaled dot product attention.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <sr/ops/attention/steps.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/sizes/batches.hpp>

namespace sr::replay::lower {

// The number of query heads for each head of keys and values; 0 if it is not integral.
inline Size heads_of_query(const Operand& query, const Operand& key, const Operand& value) {
  if (query.rank() < 3 || key.size(-3) == 0 || key.size(-3) != value.size(-3)) return 0;
  return query.size(-3) % key.size(-3) == 0 ? query.size(-3) / key.size(-3) : Size(0);
}

// Splits the last batch dimension into the heads of keys, and the query heads of each.
inline Dims split_heads(Dims dims, const Size& outer, const Size& inner) {
  dims.back() = outer;
  dims.push_back(inner);
  return dims;
}
inline Dims split_strides(const Dims& strides, const Size& repeats) {
  return split_heads(strides, strides.back() * repeats, strides.back());
}

// scaled_dot_product_attention(query, key, value, mask, dropout, causal, scale, grouped), without a mask or
// with one of floats or bools.
inline bool attention(Lowering& lowering, const TracedNode& node) {
  auto query = lowering.input(node, 0), key = lowering.input(node, 1), value = lowering.input(node, 2);
  const auto mask = lowering.input(node, 3);
  const Operand out = lowering.output(node);
  if (lowering.exact() || !query || !key || !value || !all_float({&*query, &*key, &*value, &out}))
    return false;
  const bool grouped = node.inputs[7].toBool();
  if (node.inputs[4].toDouble() != 0) return false;
  if (query->rank() < 2 || key->rank() != query->rank() || value->rank() != query->rank()) return false;
  if (mask && ((!mask->is_float() && mask->dtype != at::kBool) || mask->rank() < 2)) return false;
  const Size repeats = grouped ? heads_of_query(*query, *key, *value) : Size(1);
  if (repeats == 0) return false;
  if (out.count() == 0) return true;
  const Size rows = query->size(-2), keys = key->size(-2), width = query->size(-1);
  if (keys == 0 || width == 0) return false;
  if (out.stride(-1) != 1 && out.size(-1) != 1) return false;
  if (batch_sizes(*query) != batch_sizes(out) || !lowering.make_rows(*query)) return false;

  AttentionStep step;
  step.causal = node.inputs[5].toBool();
  // Large blocks pack the keys less often. Large causal blocks compute more scores that no row sees.
  constexpr std::int64_t kMostScores = 65536;  // 256 KiB of them
  const auto most_rows = static_cast<std::int64_t>(AttentionStep::kMostRows) / (step.causal ? 2 : 1);
  AttentionStep::Sizes& sizes = step.sizes;
  sizes.rows = rows;
  sizes.keys = keys;
  sizes.width = width;
  sizes.block =
      keys > kMostScores ? Size(1) : min_of(Size(kMostScores) / keys, min_of(rows, Size(most_rows)));
  step.scale = static_cast<float>(node.inputs[6].isNone() ? 1 / std::sqrt(static_cast<double>(width.pin()))
                                                          : node.inputs[6].toDouble());
  sizes.query_row = query->stride(-2);
  sizes.key_row = key->stride(-2);
  sizes.key_column = key->stride(-1);
  sizes.value_row = value->stride(-2);
  sizes.value_column = value->stride(-1);
  sizes.out_row = out.stride(-2);
  sizes.out_columns = out.size(-1);
  const Operand scratch = lowering.temporary({sizes.block * keys});
  step.query = lowering.address(*query);
  step.key = lowering.address(*key);
  step.value = lowering.address(*value);
  step.out = lowering.address(out);
  step.scratch = lowering.address(scratch);
  std::vector<StorageId> reads{query->storage, key->storage, value->storage};
  if (mask) {
    step.masks = mask->is_float() ? AttentionStep::Mask::floats : AttentionStep::Mask::bools;
    step.mask = lowering.address(*mask);
    if (mask->size(-2) != 1) sizes.mask_row = mask->stride(-2);
    if (mask->size(-1) != 1) sizes.mask_column = mask->stride(-1);
    reads.push_back(mask->storage);
  }
  Operand keys_under = out;  // the batch of keys and values
  if (grouped) keys_under.sizes[out.rank() - 3] = key->size(-3);
  Batches<5>& batches = sizes.batches;
  batches = {batch_sizes(out),
             {batch_strides(*query, out), batch_strides(*key, keys_under), batch_strides(*value, keys_under),
              mask ? batch_strides(*mask, out) : Dims(out.rank() - 2, 0), batch_strides(out, out)}};
  if (grouped) {
    batches.sizes = split_heads(batches.sizes, batches.sizes.back() / repeats, repeats);
    for (const std::size_t of_query : {0, 3, 4})
      batches.strides[of_query] = split_strides(batches.strides[of_query], repeats);
    for (const std::size_t of_keys : {1, 2}) batches.strides[of_keys].push_back(0);
  }
  lowering.emit(std::move(step), std::move(reads), {out.storage, scratch.storage});
  return true;
}

}  // namespace sr::replay::lower
