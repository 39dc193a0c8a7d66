// Scaled dot product attention in fp32. Computes a block of rows of scores at a time, which stays in the
// cache between the two products.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/sizes/batches.hpp>
#include <sr/replay/sizes/values.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/replay/steps/step.hpp>
#include <sr/replay/steps/workspace.hpp>

namespace sr::replay {

struct AttentionStep final : ClonableStep<AttentionStep> {
  std::string_view name() const override { return "attention"; }
  bool may_fail() const override { return true; }  // numbers that are not finite
  using Batch = std::array<std::int64_t, 5>;       // elements
  static constexpr std::size_t kMostRows = 128;    // of a block
  using RowSet = std::bitset<kMostRows>;

  struct Sizes {
    Size rows, keys, width;  // the number of queries, that of keys, and the number of elements of each
    Size block;              // the number of rows that are computed at once
    // The strides of the rows and columns of each matrix, in elements, and the number of columns of results.
    Size query_row, key_row, key_column, value_row, value_column, out_row, out_columns;
    Size mask_row, mask_column;
    Batches<5> batches;  // of the addresses below, in their order
  };
  Sizes sizes;
  float scale = 1;
  // Floats are added to the scores. Where a bool is false, the row does not see the key.
  enum class Mask { none, floats, bools };
  bool causal = false;
  Mask masks = Mask::none;
  Address query, key, value, mask, out, scratch;
  // In this call:
  kernels::Gemm scores, mixture;  // of a block of rows
  std::size_t rows = 0, block = 0, keys = 0;
  std::ptrdiff_t mask_row = 0, mask_column = 0;
  std::vector<Batch> batches;
  Shares shares;  // of blocks

  std::size_t vector_bytes() const { return bytes_of(batches); }

  RunStep settle(SizeValues& values) override {
    rows = values.count(sizes.rows);
    keys = values.count(sizes.keys);
    block = values.count(sizes.block);
    scores.k = values.count(sizes.width);
    scores.a_row = values(sizes.query_row);
    scores.b_k = values(sizes.key_column);
    scores.b_n = values(sizes.key_row);
    scores.out_row = mixture.a_row = static_cast<std::ptrdiff_t>(keys);
    mixture.n = values.count(sizes.out_columns);
    mixture.b_k = values(sizes.value_row);
    mixture.b_n = values(sizes.value_column);
    mixture.out_row = values(sizes.out_row);
    mask_row = values(sizes.mask_row);
    mask_column = values(sizes.mask_column);
    batches.clear();
    sizes.batches.each(values, [&](const Batch& batch) { batches.push_back(batch); });
    const double scores_of_all = static_cast<double>(batches.size() * rows) * static_cast<double>(keys);
    const bool is_large =
        scores_of_all * static_cast<double>(scores.k + mixture.n) >= static_cast<double>(kLeastShared);
    shares.set(is_large ? static_cast<std::int64_t>(batches.size() * blocks()) : 0, scores_of_all);
    return shares.count() > 1 ? &run_shared : &run;
  }

  Shares* shared_work() override { return &shares; }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const AttentionStep&>(payload);
    auto* const memory = self.scratch.in<float>(context.bases);
    for (std::size_t part = 0; part < self.batches.size() * self.blocks(); ++part)
      self.run_part(context, part, memory);
  }

 private:
  static void run_shared(const Payload& payload, Context& context) {
    const auto& self = static_cast<const AttentionStep&>(payload);
    self.shares.each([&](std::int64_t first, std::int64_t end) {
      float* const memory = Workspace::of_thread().floats(self.block * self.keys);
      for (; first < end; ++first) self.run_part(context, static_cast<std::size_t>(first), memory);
    });
  }

  // The number of blocks that the rows of a batch are divided into.
  std::size_t blocks() const { return (rows + block - 1) / block; }

  // Parts are the blocks of the first batch, then those of the second, and so on.
  void run_part(const Context& context, std::size_t part, float* memory) const {
    const Batch& batch = batches[part / blocks()];
    const std::size_t first = part % blocks() * block;
    if (causal && first == 0) check_values(context, batch);
    run_block(context, batch, first, memory);
  }

  // `memory` has room for the scores of a block.
  void run_block(const Context& context, const Batch& batch, std::size_t first, float* memory) const {
    const kernels::Table& table = kernels::kernels().table;
    const auto skip = static_cast<std::int64_t>(first);
    kernels::Gemm product = scores;
    product.m = std::min(block, rows - first);
    product.n = causal ? std::min(keys, first + product.m) : keys;  // no row of the block sees more
    product.a = query.in<const float>(context.bases) + batch[0] + skip * scores.a_row;
    product.b = key.in<const float>(context.bases) + batch[1];
    product.out = memory;
    table.gemm(product);
    std::array<float, kMostRows> sums;
    exponentials(context, batch, first,
                 {product.m, product.n, memory, static_cast<std::ptrdiff_t>(keys), scale}, sums.data());
    kernels::Gemm mix = mixture;
    mix.m = product.m;
    mix.k = product.n;
    mix.a = memory;
    mix.b = value.in<const float>(context.bases) + batch[2];
    mix.out = out.in<float>(context.bases) + batch[4] + skip * mixture.out_row;
    table.gemm(mix);
    // These results are not divided by the sums yet. They may overflow although the quotients are finite.
    require_finite(table.divide_rows({mix.m, mix.n, mix.out, mix.out_row}, sums.data()));
  }

  // Replaces the scores of rows from `first` on by the numerators of their softmax, and writes the
  // denominators to `sums`.
  void exponentials(const Context& context, const Batch& batch, std::size_t first, kernels::Scores of,
                    float* sums) const {
    const kernels::Table& table = kernels::kernels().table;
    if (!causal && masks == Mask::none && scale > 0) return require_finite(table.exp_scores(of, sums));
    require_finite(table.scale_scores(of));
    of.scale = 1;
    const RowSet masked = hide_keys(context, batch, first, of);
    table.exp_scores(of, sums);
    for (std::size_t r = 0; r < of.rows; ++r) {
      if (!masked[r]) continue;
      std::fill_n(of.begin + static_cast<std::ptrdiff_t>(r) * of.stride, of.columns, 0.0F);  // not NaN
      sums[r] = 1;
    }
  }

  // Sets the scores of keys that a row does not see to -infinity, and adds a mask of floats. Returns the rows
  // that see no key at all.
  RowSet hide_keys(const Context& context, const Batch& batch, std::size_t first,
                   const kernels::Scores& of) const {
    RowSet masked;
    for (std::size_t r = 0; r < of.rows; ++r) {
      float* const row = of.begin + static_cast<std::ptrdiff_t>(r) * of.stride;
      if (causal) std::fill(row + std::min(of.columns, first + r + 1), row + of.columns, kMinusInfinity);
      if (masks == Mask::none) continue;
      const std::int64_t at = batch[3] + static_cast<std::int64_t>(first + r) * mask_row;
      const bool sees = masks == Mask::floats
                            ? add_mask(mask.in<const float>(context.bases) + at, of.columns, row)
                            : choose_keys(mask.in<const bool>(context.bases) + at, of.columns, row);
      masked[r] = !sees;
    }
    return masked;
  }

  // A mask can hide a value that is not finite from all rows. LibTorch's kernels do not agree on the result
  // then, so that LibTorch has to compute such a call.
  static void require_finite(bool are_finite) {
    if (!are_finite)
      throw Deoptimized("Attention has met numbers that are not finite.", Deoptimized::Program::kept);
  }
  static void check_finite(const float* from, std::size_t count, std::ptrdiff_t stride) {
    constexpr std::uint32_t kExponent = 0x7F800000;  // all ones: an infinity or NaN
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(from[static_cast<std::ptrdiff_t>(i) * stride]);
      found |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
    }
    require_finite(found == 0);
  }

  // Rows of a causal block use only a part of the values.
  void check_values(const Context& context, const Batch& batch) const {
    const float* const values = value.in<const float>(context.bases) + batch[2];
    for (std::size_t k = 0; k < keys; ++k)
      check_finite(values + static_cast<std::ptrdiff_t>(k) * mixture.b_k, mixture.n, mixture.b_n);
  }

  // Returns false if the whole row is masked.
  bool add_mask(const float* from, std::size_t count, float* row) const {
    bool sees = false;
    for (std::size_t j = 0; j < count; ++j) {
      row[j] += from[static_cast<std::ptrdiff_t>(j) * mask_column];
      sees |= row[j] != kMinusInfinity;
    }
    return sees;
  }

  bool choose_keys(const bool* from, std::size_t count, float* row) const {
    bool sees = false;
    for (std::size_t j = 0; j < count; ++j) {
      row[j] = from[static_cast<std::ptrdiff_t>(j) * mask_column] ? row[j] : kMinusInfinity;
      sees |= row[j] != kMinusInfinity;
    }
    return sees;
  }

  static constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
};

}  // namespace sr::replay
