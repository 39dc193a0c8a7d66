// Products of floats that were made of int8 with constants that were made of int8 and scales of groups: both
// stay integers, and the weights take 4 bits where those suffice.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/kernels/int8_forms.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/ops/matmul/dequantized_gemm.hpp>
#include <sr/ops/matmul/grouped_gemm_lowering.hpp>
#include <sr/ops/matmul/int8_grouped_gemm_step.hpp>
#include <sr/ops/matmul/quantized_left.hpp>
#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// True if the kernels take weights with such groups: words of eight 4-bit weights, sums of 32 bits.
inline bool fits_int8_groups(const ProgramStorages::DequantizedMatrix& weight) {
  constexpr std::int64_t kUnit = 8;
  return weight.group() % kUnit == 0 && weight.group() > 0 && weight.group() <= kLongestWithZero &&
         !weight.zeros.defined();
}

// Multiplies a [..., k], whose leading dimensions are rows, by b [k, n]. Returns false, and emits nothing,
// unless `a` was dequantized from int8 and `b` from int8 with groups that the kernels take. Rows of `out`
// must be contiguous.
inline bool gemm_of_int8_grouped(Lowering& lowering, const Operand& a, const Operand& b,
                                 const ProductSizes& sizes, const std::optional<Operand>& bias,
                                 const Operand& out, const Size& out_row) {
  if (!a.is_contiguous() || kernels::kernels().table.width < kLeastToWiden) return false;
  const auto matrix = dequantized_columns(lowering, b, sizes);
  if (!matrix || !fits_int8_groups(*matrix)) return false;
  const std::optional<Dequantized> rows = find_dequantized(lowering, a);
  if (!rows || rows->integers.dtype != c10::kChar ||
      (!rows->zero.tensor && !is_zero_point(rows->zero.number)))
    return false;
  const GroupedMatrix weight = grouped_weight(lowering, *matrix);      // reads all weights
  if (matrix->groups() == 1 && !weight.weights.nibbles) return false;  // a product of int8 has less to do
  Int8GroupedGemmStep step;
  step.m = sizes.m;
  step.n = sizes.n;
  step.k = sizes.k;
  step.out_row = out_row;
  step.multiply = kernels::int8_form().multiply_grouped;
  step.scales = matrix->scales.values;
  static_cast<GroupedMatrix&>(step.weight) = weight;
  step.shape.group = step.weight.weights.group;
  step.shape.nibbles = step.weight.weights.nibbles;
  step.out = lowering.address(out);
  std::vector<StorageId> reads{matrix->integers.storage}, writes{out.storage};
  const Operand group_sums = lowering.temporary({sizes.m, matrix->groups()}, c10::kInt);
  step.group_sums = lowering.address(group_sums);
  writes.push_back(group_sums.storage);
  multiply_dequantized(lowering, step, a, *rows, reads, writes);
  if (bias) {
    step.bias = lowering.address(*bias);
    step.has_bias = true;
    reads.push_back(bias->storage);
  }
  lowering.emit(std::move(step), std::move(reads), std::move(writes));
  return true;
}

}  // namespace sr::replay::lower
