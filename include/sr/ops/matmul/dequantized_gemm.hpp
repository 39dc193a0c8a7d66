// Products of two matrices that were made of 8-bit integers, computed on the integers.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/kernels/int8_forms.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/ops/matmul/int8_gemm_step.hpp>
#include <sr/ops/matmul/quantized_left.hpp>
#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// Floats of a register from which on it pays to widen weights of 8 or 16 bits in a product.
inline constexpr std::size_t kLeastToWiden = 8;

// The number of multiply-adds of 8-bit integers from which several threads may share a product.
inline std::int64_t least_shared_of_int8() {
  return kernels::int8_form().is_fast ? 4 * kLeastShared : kLeastShared;
}

// The product of a, rows of int8 or uint8, with a constant b of int8. The caller sets where it writes, and
// the distances between rows.
inline Int8GemmStep int8_product(Lowering& lowering, const Operand& a, const Operand& b,
                                 const ProductSizes& sizes) {
  Int8GemmStep step;
  step.m = sizes.m;
  step.n = sizes.n;
  step.k = sizes.k;
  step.row_factor_stride = 0;
  step.zero_stride = 0;
  step.shape.a_signed = a.dtype == c10::kChar;
  step.multiply = kernels::int8_form().multiply;
  step.a = lowering.address(a);
  step.panels.least_shared = least_shared_of_int8();
  step.weight = {.data = static_cast<const std::int8_t*>(lowering.constant_bytes(b)),
                 .n = static_cast<std::size_t>(step.n.pin()),
                 .k = static_cast<std::size_t>(step.k.pin()),
                 .b_k = sizes.b_k.pin(),
                 .b_n = sizes.b_n.pin(),
                 .of_module = lowering.of_module(b)};
  return step;
}

// a [..., k], whose leading dimensions are rows, times b [k, n]. Emits nothing and returns false if one of
// them was not made of 8-bit integers. Rows of `out` must be contiguous.
inline bool gemm_of_dequantized(Lowering& lowering, const Operand& a, const Operand& b,
                                const ProductSizes& sizes, const std::optional<Operand>& bias,
                                const Operand& out, const Size& out_row) {
  if (!a.is_contiguous() || sizes.k > kLongestWithZero) return false;
  const auto weight = dequantized_columns(lowering, b, sizes);
  if (!weight || weight->groups() != 1 || weight->zeros.defined()) return false;
  const Operand& integers = weight->integers;
  const std::optional<Dequantized> rows = find_dequantized(lowering, a);
  if (!rows || (!rows->zero.tensor && !is_zero_point(rows->zero.number))) return false;
  Int8GemmStep step = int8_product(lowering, rows->integers, integers, sizes);
  step.out_row = out_row;
  step.out = lowering.address(out);
  std::vector<StorageId> reads{integers.storage}, writes{out.storage};
  multiply_dequantized(lowering, step, a, *rows, reads, writes);
  step.has_row_factor = true;
  step.column_factor = lowering.address(lowering.literal({sizes.n}, weight->scales.values.reshape({-1})));
  step.has_column_factor = true;
  step.stage = Int8GemmStep::Stage::by_columns;
  if (bias) {
    step.bias = lowering.address(*bias);
    step.has_bias = true;
    step.stage = Int8GemmStep::Stage::with_bias;
    reads.push_back(bias->storage);
  }
  lowering.emit(std::move(step), std::move(reads), std::move(writes));
  return true;
}

}  // namespace sr::replay::lower
