// Scaled dot product attention in fp32: some rows of scores at a time, which stay in the cache between the
// two products.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <sr/plan/lower/products.hpp>
#include <sr/plan/lowering.hpp>

namespace sr::plan {

struct AttentionStep final : Payload {
  std::string_view name() const override { return "attention"; }
  using Batch = std::array<std::int64_t, 5>;  // elements from the addresses below, in their order

  kernels::Product scores, mixture;  // of a block of rows
  std::size_t rows = 0, block = 0, keys = 0;
  float scale = 1;
  bool causal = false, has_mask = false;
  std::ptrdiff_t mask_row = 0, mask_column = 0;
  Address query, key, value, mask, out, scratch;
  std::vector<Batch> batches;

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const AttentionStep&>(payload);
    for (const Batch& batch : self.batches) {
      for (std::size_t first = 0; first < self.rows; first += self.block)
        self.run_block(context, batch, first);
    }
  }

 private:
  void run_block(Context& context, const Batch& batch, std::size_t first) const {
    const kernels::Table& table = kernels::kernels().table;
    auto* const shares = scratch.in<float>(context.bases);
    const auto skip = static_cast<std::int64_t>(first);
    kernels::Product product = scores;
    product.m = std::min(block, rows - first);
    product.n = causal ? std::min(keys, first + product.m) : keys;  // no row of the block sees more
    product.a = query.in<const float>(context.bases) + batch[0] + skip * scores.a_row;
    product.b = key.in<const float>(context.bases) + batch[1];
    product.out = shares;
    table.product(product);
    std::uint64_t masked = 0;  // rows that see no key at all
    for (std::size_t r = 0; r < product.m; ++r) {
      float* const row = shares + r * keys;
      const std::array<const float*, 2> by{row, &scale};
      kernels::loops<kernels::lanes::Mul>().by_scalars[2](product.n, row, by.data());
      if (causal) std::fill(row + std::min(product.n, first + r + 1), row + product.n, kMinusInfinity);
      if (has_mask) {
        const auto position = static_cast<std::int64_t>(first + r) * mask_row;
        const bool sees = add_mask(mask.in<const float>(context.bases) + batch[3] + position, product.n, row);
        if (!sees) masked |= std::uint64_t{1} << r;
      }
    }
    table.softmax_rows({product.m, product.n, shares, static_cast<std::ptrdiff_t>(keys), shares,
                        static_cast<std::ptrdiff_t>(keys)});
    for (std::size_t r = 0; masked != 0; ++r, masked >>= 1) {
      if ((masked & 1) != 0)
        std::fill_n(shares + r * keys, product.n, 0.0F);  // not the NaN softmax makes of it
    }
    kernels::Product mix = mixture;
    mix.m = product.m;
    mix.k = product.n;
    mix.a = shares;
    mix.b = value.in<const float>(context.bases) + batch[2];
    mix.out = out.in<float>(context.bases) + batch[4] + skip * mixture.out_row;
    table.product(mix);
  }

  // False when all of the row is masked.
  bool add_mask(const float* from, std::size_t count, float* row) const {
    bool sees = false;
    for (std::size_t j = 0; j < count; ++j) {
      row[j] += from[static_cast<std::ptrdiff_t>(j) * mask_column];
      sees |= row[j] != kMinusInfinity;
    }
    return sees;
  }

  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
};

namespace lower {

// scaled_dot_product_attention(query, key, value, mask, dropout, causal, scale, grouped): without a mask or
// with one of floats.
inline bool attention(Lowering& lowering, const TracedNode& node) {
  auto query = lowering.input(node, 0), key = lowering.input(node, 1), value = lowering.input(node, 2);
  const auto mask = lowering.input(node, 3);
  const Operand out = lowering.output(node);
  if (lowering.exact() || !query || !key || !value || !all_float({&*query, &*key, &*value, &out}))
    return false;
  if (node.inputs[4].toDouble() != 0 || node.inputs[7].toBool()) return false;
  if (query->rank() < 2 || key->rank() != query->rank() || value->rank() != query->rank()) return false;
  if (mask && (!mask->is_float() || mask->rank() < 2)) return false;
  if (out.count() == 0) return true;
  const std::int64_t rows = query->size(-2), keys = key->size(-2), width = query->size(-1);
  const double work = static_cast<double>(out.count()) * static_cast<double>(keys);
  if (keys == 0 || width == 0 || is_too_much_for_one(lowering, work)) return false;
  if (out.stride(-1) != 1 && out.size(-1) != 1) return false;
  if (batch_sizes(*query) != batch_sizes(out) || !lowering.make_rows(*query)) return false;

  constexpr std::int64_t kMostRows = 64, kMostScores = 16384;  // 64 KiB of them
  AttentionStep step;
  step.rows = static_cast<std::size_t>(rows);
  step.keys = static_cast<std::size_t>(keys);
  step.block =
      static_cast<std::size_t>(std::clamp<std::int64_t>(kMostScores / keys, 1, std::min(kMostRows, rows)));
  step.causal = node.inputs[5].toBool();
  step.scale = static_cast<float>(node.inputs[6].isNone() ? 1 / std::sqrt(static_cast<double>(width))
                                                          : node.inputs[6].toDouble());
  step.scores.k = static_cast<std::size_t>(width);
  step.scores.a_row = query->stride(-2);
  step.scores.b_k = key->stride(-1);
  step.scores.b_n = key->stride(-2);
  step.scores.out_row = keys;
  step.mixture.n = static_cast<std::size_t>(out.size(-1));
  step.mixture.a_row = keys;
  step.mixture.b_k = value->stride(-2);
  step.mixture.b_n = value->stride(-1);
  step.mixture.out_row = out.stride(-2);
  const Operand scratch = lowering.temporary({static_cast<std::int64_t>(step.block) * keys});
  step.query = lowering.address(*query);
  step.key = lowering.address(*key);
  step.value = lowering.address(*value);
  step.out = lowering.address(out);
  step.scratch = lowering.address(scratch);
  std::vector<StorageId> reads{query->storage, key->storage, value->storage};
  if (mask) {
    step.has_mask = true;
    step.mask = lowering.address(*mask);
    step.mask_row = mask->size(-2) == 1 ? 0 : mask->stride(-2);
    step.mask_column = mask->size(-1) == 1 ? 0 : mask->stride(-1);
    reads.push_back(mask->storage);
  }
  each_batch<5>(batch_sizes(out),
                {batch_strides(*query, out), batch_strides(*key, out), batch_strides(*value, out),
                 mask ? batch_strides(*mask, out) : Dims(out.rank() - 2, 0), batch_strides(out, out)},
                [&](const AttentionStep::Batch& at) { step.batches.push_back(at); });
  lowering.emit(std::move(step), std::move(reads), {out.storage, scratch.storage});
  return true;
}

inline void add_attention(LowerTable& table) {
  table.insert({{"aten::scaled_dot_product_attention", &attention}});
}

}  // namespace lower
}  // namespace sr::plan
