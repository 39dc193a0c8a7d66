// Matrix products in fp32, and in bfloat16 and float16 if the right side is constant. Constant right sides
// are packed into panels.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <sr/ops/matmul/dequantized_gemm.hpp>
#include <sr/ops/matmul/dots_of_tile.hpp>
#include <sr/ops/matmul/gemm_step.hpp>
#include <sr/ops/matmul/grouped_gemm_lowering.hpp>
#include <sr/ops/matmul/grouped_gemm_step.hpp>
#include <sr/ops/matmul/int8_grouped_gemm_lowering.hpp>
#include <sr/ops/matmul/int8_grouped_gemm_step.hpp>
#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/epilogues.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>
#include <sr/replay/sizes/batches.hpp>

namespace sr::replay::lower {

// The most elements of a right side that is not packed. LibTorch's products by larger ones are faster, since
// they block the columns, too (docs/internals/decisions/0008-products-fetch-the-panel-ahead.md).
inline constexpr std::int64_t kMostUnpacked = 2'500'000;

struct Matrices {
  Operand a, b, out;  // a: rows x k, elements of a row contiguous; out: rows x n, the same
  Size m = 0, n = 0, k = 0;
  Size a_row = 0, out_row = 0, b_k = 0, b_n = 0;
};

template <class T, class Result>
auto* packed_gemm() {
  if constexpr (std::is_same_v<T, float>) {
    return kernels::kernels().table.packed_gemm;
  } else if constexpr (std::is_same_v<Result, float>) {
    return small_weights<T>().multiply;
  } else {
    return small_weights<T>().multiply_and_round;
  }
}

// T is the type of b. Products by others than floats need a constant b and no batches. Adds what the step
// reads to `reads`.
template <class T, class Result>
GemmStepOf<T, Result> gemm_step(Lowering& lowering, const Matrices& matrices,
                                const std::optional<Operand>& bias, const Batches<3>& batches,
                                std::vector<StorageId>& reads) {
  GemmStepOf<T, Result> step;
  step.m = matrices.m;
  step.n = matrices.n;
  step.k = matrices.k;
  step.a_row = matrices.a_row;
  step.out_row = matrices.out_row;
  step.b_k = matrices.b_k;
  step.b_n = matrices.b_n;
  if constexpr (std::is_same_v<T, float>) step.multiply = kernels::kernels().table.gemm;
  step.a = lowering.address(matrices.a);
  step.b = lowering.address(matrices.b);
  step.out = lowering.address(matrices.out);
  step.batches_of = batches;
  reads.insert(reads.end(), {matrices.a.storage, matrices.b.storage});
  if (lowering.is_constant(matrices.b) && step.batches_of.sizes.empty()) {
    step.weight = {.data = static_cast<const T*>(lowering.constant_bytes(matrices.b)),
                   .n = static_cast<std::size_t>(matrices.n.pin()),
                   .k = static_cast<std::size_t>(matrices.k.pin()),
                   .b_k = matrices.b_k.pin(),
                   .b_n = matrices.b_n.pin(),
                   .of_module = lowering.of_module(matrices.b)};
    step.multiply = packed_gemm<T, Result>();
  }
  if (bias) {
    step.bias = lowering.address(*bias);
    step.has_bias = true;
    reads.push_back(bias->storage);
  }
  return step;
}
template <class T, class Result = float>
void emit_gemm(Lowering& lowering, const Matrices& matrices, const std::optional<Operand>& bias,
               const Batches<3>& batches = {}) {
  std::vector<StorageId> reads;
  auto step = gemm_step<T, Result>(lowering, matrices, bias, batches, reads);
  lowering.emit(std::move(step), std::move(reads), {matrices.out.storage});
}

// For batches of one row and one column at equal distances: one call for all of them.
inline bool emit_batched_dot(Lowering& lowering, const Matrices& matrices, const Batches<3>& batches) {
  if (matrices.m != 1 || matrices.n != 1 || (matrices.b_k != 1 && matrices.k != 1)) return false;
  if (batches.sizes.size() > 1) return false;
  BatchedDotStep step;
  step.count = batches.count();
  step.k = matrices.k;
  if (!batches.sizes.empty()) {
    step.a_row = batches.strides[0][0];
    step.b_row = batches.strides[1][0];
    step.out_stride = batches.strides[2][0];
  }
  step.a = lowering.address(matrices.a);
  step.b = lowering.address(matrices.b);
  step.out = lowering.address(matrices.out);
  lowering.emit(std::move(step), {matrices.a.storage, matrices.b.storage}, {matrices.out.storage});
  return true;
}

// Makes the group that computes the rows of `a` multiply them with a constant column, whose elements follow
// each other. Returns false if there is none that can; see Lowering::behind_group.
inline bool dots_behind_group(Lowering& lowering, const Matrices& matrices,
                              const std::optional<Operand>& bias) {
  if (matrices.b_k != 1 || !lowering.is_constant(matrices.b)) return false;
  auto kernel = std::make_unique<DotsOfTile>();
  kernel->column = lowering.address(matrices.b);
  std::vector<StorageId> reads{matrices.b.storage};
  if (bias) {
    kernel->has_bias = true;
    kernel->bias = lowering.address(*bias);
    reads.push_back(bias->storage);
  }
  return lowering.behind_group(
      {.kernel = std::move(kernel), .in = matrices.a, .out = matrices.out, .row_rank = 1, .out_columns = 1},
      reads);
}

// The operand converted to fp32.
inline Operand widened(Lowering& lowering, const Operand& operand) {
  const Operand constant = lowering.constant_as(c10::kFloat, operand);
  if (constant.is_float()) return constant;
  const Operand made = lowering.temporary(operand.sizes);
  lowering.pointwise(kernels::loops<vector_ops::Same>(), {operand}, made);
  return made;
}

// The product with a constant b of bfloat16 or float16. kRounds: the result has the dtype of b; otherwise it
// is in fp32.
template <bool kRounds>
void emit_gemm_of_16_bits(Lowering& lowering, const Matrices& matrices, const std::optional<Operand>& bias) {
  const auto emit = [&]<class T>(T) {
    emit_gemm<T, std::conditional_t<kRounds, T, float>>(lowering, matrices, bias);
  };
  if (matrices.b.dtype == c10::kHalf) {
    emit(kernels::Float16Bits{});
  } else {
    emit(kernels::Bfloat16Bits{});
  }
}

// True if kernels can add `bias` to each row of a product that has n columns and elements of the type.
inline bool is_bias(const Operand& bias, c10::ScalarType type, const Size& n) {
  const bool is_row = bias.rank() == 1 || (bias.rank() == 2 && bias.size(0) == 1);
  return bias.dtype == type && is_row && bias.size(-1) == n && (n <= 1 || bias.stride(-1) == 1);
}

// a [..., k] times b [k, n]. All leading dimensions of `a` are rows. bfloat16 and float16 are computed as in
// LibTorch: summed in fp32 with the bias, and rounded once.
inline bool gemm_of_rows(Lowering& lowering, Operand a, const Operand& b, const Size& b_k, const Size& b_n,
                         const Size& n, const std::optional<Operand>& bias, const Operand& out) {
  Matrices matrices{.a = std::move(a), .b = b, .out = out, .n = n, .b_k = b_k, .b_n = b_n};
  const bool rounds = is_16_bit_float(out.dtype) && lowering.is_constant(b) &&
                      matrices.a.rank() <= kernels::StridedCopy::kMaxRank;
  const c10::ScalarType type = rounds ? out.dtype : c10::kFloat;
  if (lowering.exact() || !all_of({&matrices.a, &matrices.b, &matrices.out}, type) ||
      matrices.a.rank() == 0) {
    return false;
  }
  matrices.k = matrices.a.size(-1);
  if (matrices.k == 0) return false;
  matrices.m = matrices.a.count() / matrices.k;
  if (bias && !is_bias(*bias, type, n)) return false;
  if (!lowering.is_constant(matrices.b) && matrices.n * matrices.k > kMostUnpacked) return false;
  if (out.count() == 0) return true;
  const bool is_row = matrices.m == 1;
  const auto out_rows = is_row              ? std::pair(Size(1), n)
                        : out.size(-1) == n ? as_rows(out)
                                            : std::pair(Size(-1), Size(0));
  const bool column = n == 1 && out.is_contiguous();  // of a product with a vector
  if (!column && out_rows.first != matrices.m) return false;
  if (is_row && !out.is_contiguous()) return false;
  if (n == 1 && !rounds && dots_behind_group(lowering, matrices, bias)) return true;
  if (rounds) matrices.a = widened(lowering, matrices.a);
  auto a_rows = as_rows(matrices.a);
  if (a_rows.first < 0) {
    matrices.a = lowering.contiguous(matrices.a);
    a_rows = as_rows(matrices.a);
    if (a_rows.first < 0) return false;
  }
  matrices.a_row = a_rows.second;
  matrices.out_row = column ? Size(1) : out_rows.second;
  const ProductSizes sizes{matrices.m, n, matrices.k, b_k, b_n};
  if (rounds) {
    const auto floats = bias ? std::optional(widened(lowering, *bias)) : std::nullopt;
    emit_gemm_of_16_bits</*kRounds=*/true>(lowering, matrices, floats);
    return true;
  }
  if (gemm_of_int8_grouped(lowering, matrices.a, b, sizes, bias, out, matrices.out_row) ||
      gemm_of_dequantized(lowering, matrices.a, b, sizes, bias, out, matrices.out_row) ||
      gemm_of_grouped(lowering, matrices.a, matrices.a_row, b, sizes, bias, out, matrices.out_row))
    return true;
  const std::optional<Operand> narrow = lowering.before_widening(b);
  if (!narrow || kernels::kernels().table.width < kLeastToWiden) {
    emit_gemm<float>(lowering, matrices, bias);
    return true;
  }
  matrices.b = *narrow;
  if (narrow->dtype == c10::kChar) {
    emit_gemm<std::int8_t>(lowering, matrices, bias);
  } else {
    emit_gemm_of_16_bits</*kRounds=*/false>(lowering, matrices, bias);
  }
  return true;
}

// The batch dimensions, which are all but the last two, and the strides of a batch that is broadcast to the
// batch dimensions of `under`.
inline Dims batch_sizes(const Operand& operand) {
  return Dims(operand.sizes.begin(), operand.sizes.end() - 2);
}
inline Dims batch_strides(const Operand& operand, const Operand& under) {
  return broadcast_strides(first_dims(operand, operand.rank() - 2), batch_sizes(under));
}

// Products of two batches, which broadcast.
inline bool batched(Lowering& lowering, Operand a, const Operand& b, const Operand& out) {
  if (lowering.exact() || !all_float({&a, &b, &out}) || out.rank() < 2) return false;
  Matrices matrices{.a = {}, .b = {}, .out = out, .m = a.size(-2), .n = b.size(-1), .k = a.size(-1)};
  if (matrices.k == 0 || out.size(-2) != matrices.m || out.size(-1) != matrices.n) return false;
  if (out.count() == 0) return true;
  if (out.stride(-1) != 1 && matrices.n != 1) return false;
  matrices.b = b;
  if (matrices.n * matrices.k > kMostUnpacked) return false;
  if (!lowering.make_rows(a)) return false;
  matrices.a = a;
  matrices.a_row = a.stride(-2);
  matrices.out_row = out.stride(-2);
  matrices.b_k = b.stride(-2);
  matrices.b_n = b.stride(-1);
  Batches<3> batches{batch_sizes(out),
                     {batch_strides(a, out), batch_strides(b, out), batch_strides(out, out)}};
  batches.merge();
  if (!emit_batched_dot(lowering, matrices, batches))
    emit_gemm<float>(lowering, matrices, std::nullopt, batches);
  return true;
}

// relu(product)
inline bool clamp_products(Lowering& lowering, const TracedNode& node) {
  using kernels::Bfloat16Bits, kernels::Float16Bits;
  return clamp_results<c10::kFloat, GemmStep, GroupedGemmStep, Int8GroupedGemmStep, Int8WeightGemmStep,
                       GemmStepOf<Bfloat16Bits>, GemmStepOf<Float16Bits>>(lowering, node) ||
         clamp_results<c10::kBFloat16, RoundingGemmStep<Bfloat16Bits>>(lowering, node) ||
         clamp_results<c10::kHalf, RoundingGemmStep<Float16Bits>>(lowering, node);
}

}  // namespace sr::replay::lower
