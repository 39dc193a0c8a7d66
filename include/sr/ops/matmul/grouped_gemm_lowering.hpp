// Products of floats with constants that were made of int8: (integers - zeros) * scales. The weights stay in
// 8 bits, or in 4 where those suffice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/ops/matmul/dequantized_gemm.hpp>
#include <sr/ops/matmul/grouped_gemm_step.hpp>
#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

inline bool are_nibbles(const std::int8_t* values, std::int64_t count) {
  return std::all_of(values, values + count, [](std::int8_t value) { return value >= -8 && value <= 7; });
}

// The weight that the columns of a product were made of. Points to the numbers of `matrix`.
inline GroupedMatrix grouped_weight(const Lowering& lowering,
                                    const ProgramStorages::DequantizedMatrix& matrix) {
  const auto* const integers = static_cast<const std::int8_t*>(lowering.constant_bytes(matrix.integers));
  const std::int64_t k = matrix.groups() * matrix.group();
  const bool has_zeros = matrix.zeros.values.defined();
  GroupedMatrix weight;
  weight.weights = {.n = static_cast<std::size_t>(matrix.rows()),
                    .k = static_cast<std::size_t>(k),
                    .group = static_cast<std::size_t>(matrix.group()),
                    .nibbles = are_nibbles(integers, matrix.rows() * k),
                    .b = integers,
                    .b_k = 1,
                    .b_n = static_cast<std::ptrdiff_t>(k),
                    .scales = matrix.scales.values.const_data_ptr<float>(),
                    .zeros = has_zeros ? matrix.zeros.values.const_data_ptr<float>() : nullptr};
  weight.scales_of = matrix.scales.given;
  weight.zeros_of = matrix.zeros.given;
  weight.of_module = lowering.of_module(matrix.integers) && matrix.scales.given != nullptr &&
                     (!has_zeros || matrix.zeros.given != nullptr);
  return weight;
}

// The step for rows of `a`, `a_row` floats apart, times b [k, n]. Returns nothing if b was not made of int8.
// Rows of `out` must be contiguous. Adds what the step reads to `reads`.
inline std::optional<GroupedGemmStep> grouped_gemm_step(Lowering& lowering, const Operand& a,
                                                        const Size& a_row, const Operand& b,
                                                        const ProductSizes& sizes,
                                                        const std::optional<Operand>& bias,
                                                        const Operand& out, const Size& out_row,
                                                        std::vector<StorageId>& reads) {
  const auto matrix = dequantized_columns(lowering, b, sizes);
  if (!matrix || kernels::kernels().table.width < kLeastToWiden) return std::nullopt;
  GroupedGemmStep step;
  step.m = sizes.m;
  step.n = sizes.n;
  step.k = sizes.k;
  step.a_row = a_row;
  step.out_row = out_row;
  step.a = lowering.address(a);
  step.out = lowering.address(out);
  step.scales = matrix->scales.values;
  step.zeros = matrix->zeros.values;
  step.weight = grouped_weight(lowering, *matrix);
  step.shape.group = step.weight.weights.group;
  step.shape.nibbles = step.weight.weights.nibbles;
  step.shape.has_zeros = step.zeros.defined();
  reads.insert(reads.end(), {a.storage, matrix->integers.storage});
  if (bias) {
    step.bias = lowering.address(*bias);
    step.has_bias = true;
    reads.push_back(bias->storage);
  }
  return step;
}

// Emits that step. Returns false if there is none.
inline bool gemm_of_grouped(Lowering& lowering, const Operand& a, const Size& a_row, const Operand& b,
                            const ProductSizes& sizes, const std::optional<Operand>& bias, const Operand& out,
                            const Size& out_row) {
  std::vector<StorageId> reads;
  auto step = grouped_gemm_step(lowering, a, a_row, b, sizes, bias, out, out_row, reads);
  if (!step) return false;
  lowering.emit(std::move(*step), std::move(reads), {out.storage});
  return true;
}

}  // namespace sr::replay::lower
