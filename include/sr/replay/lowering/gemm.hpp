// Matrix products in fp32, and in bfloat16 if the right side is constant. Constant right sides are packed
// into panels.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>
#include <sr/replay/steps/gemm_step.hpp>

namespace sr::replay::lower {

// Products that take one thread longer than 80 microseconds are shared by threads. Starting threads costs 2
// microseconds, but if another process uses a processor, the step may wait milliseconds for one of them.
inline bool is_for_threads(Lowering& lowering, double work) {
  constexpr double kLeastShared = 4.0e6;
  return work > kLeastShared && lowering.threads() != 1;
}
// Beyond this size LibTorch's kernels on several threads are faster, also than two threads of our
// convolutions.
inline bool is_too_much_for_one(Lowering& lowering, double work) {
  constexpr double kMostForOneThread = 3.2e7;
  return work > kMostForOneThread && lowering.threads() != 1;
}
// Without packed panels LibTorch's blocking is faster from a smaller size on.
inline constexpr double kMostUnpacked = 2.0e6;

struct Matrices {
  Operand a, b, out;  // a: rows x k, elements of a row contiguous; out: rows x n, the same
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t a_row = 0, out_row = 0, b_k = 0, b_n = 0;
};

inline double work_of(const Matrices& matrices) {
  return static_cast<double>(matrices.m) * static_cast<double>(matrices.n) * static_cast<double>(matrices.k);
}

inline bool all_of(std::initializer_list<const Operand*> operands, c10::ScalarType type) {
  return std::all_of(operands.begin(), operands.end(),
                     [=](const Operand* operand) { return operand->dtype == type; });
}
inline bool all_float(std::initializer_list<const Operand*> operands) {
  return all_of(operands, c10::kFloat);
}

// T is the type of b and the results. Products in bfloat16 need a constant b and no batches.
template <class T>
void emit_gemm(Lowering& lowering, const Matrices& matrices, const std::optional<Operand>& bias,
               c10::SmallVector<typename GemmStepOf<T>::Batch, 1> batches = {{0, 0, 0}}) {
  const kernels::Table& table = kernels::kernels().table;
  GemmStepOf<T> step;
  step.shape.m = static_cast<std::size_t>(matrices.m);
  step.shape.n = static_cast<std::size_t>(matrices.n);
  step.shape.k = static_cast<std::size_t>(matrices.k);
  step.shape.a_row = matrices.a_row;
  step.shape.out_row = matrices.out_row;
  step.shape.b_k = matrices.b_k;
  step.shape.b_n = matrices.b_n;
  if constexpr (std::is_same_v<T, float>) step.multiply = table.gemm;
  step.a = lowering.address(matrices.a);
  step.b = lowering.address(matrices.b);
  step.out = lowering.address(matrices.out);
  step.batches = std::move(batches);
  std::vector<StorageId> reads{matrices.a.storage, matrices.b.storage};
  if (lowering.is_constant(matrices.b) && step.batches.size() == 1) {
    step.weight = {.data = static_cast<const T*>(lowering.constant_bytes(matrices.b)) + step.batches[0].b,
                   .n = step.shape.n,
                   .k = step.shape.k,
                   .b_k = matrices.b_k,
                   .b_n = matrices.b_n,
                   .of_module = lowering.of_module(matrices.b)};
    step.batches[0].b = 0;
    if constexpr (std::is_same_v<T, float>) {
      step.multiply = table.packed_gemm;
    } else {
      step.multiply = table.packed_gemm_of_bfloat16;
    }
    if (is_for_threads(lowering, work_of(matrices))) step.cut();
  }
  if (bias) {
    step.bias = lowering.address(*bias);
    step.has_bias = true;
    reads.push_back(bias->storage);
  }
  lowering.emit(std::move(step), std::move(reads), {matrices.out.storage});
}

// For batches of one row and one column at equal distances: one call for all of them.
inline bool emit_batched_dot(Lowering& lowering, const Matrices& matrices,
                             const c10::SmallVector<GemmStep::Batch, 1>& batches) {
  if (matrices.m != 1 || matrices.n != 1 || (matrices.b_k != 1 && matrices.k != 1)) return false;
  GemmStep::Batch apart{0, 0, 0};
  for (std::size_t i = 1; i < batches.size(); ++i) {
    const GemmStep::Batch next{batches[i].a - batches[i - 1].a, batches[i].b - batches[i - 1].b,
                               batches[i].out - batches[i - 1].out};
    if (i == 1) apart = next;
    if (next.a != apart.a || next.b != apart.b || next.out != apart.out) return false;
  }
  BatchedDotStep step;
  step.shape = {.count = batches.size(),
                .k = static_cast<std::size_t>(matrices.k),
                .a_row = apart.a,
                .b_row = apart.b,
                .out_stride = apart.out};
  step.multiply = kernels::kernels().table.batched_dot;
  step.a = lowering.address(matrices.a);
  step.b = lowering.address(matrices.b);
  step.out = lowering.address(matrices.out);
  lowering.emit(std::move(step), {matrices.a.storage, matrices.b.storage}, {matrices.out.storage});
  return true;
}

// The operand converted to fp32.
inline Operand widened(Lowering& lowering, const Operand& operand) {
  const Operand constant = lowering.constant_as(c10::kFloat, operand);
  if (constant.is_float()) return constant;
  const Operand made = lowering.temporary(operand.sizes);
  lowering.pointwise(kernels::loops<vector_ops::Same>(), {operand}, made);
  return made;
}

// a [..., k] times b [k, n]. All leading dimensions of `a` are rows. bfloat16 is computed as in LibTorch:
// summed in fp32 with the bias, and rounded once.
inline bool gemm_of_rows(Lowering& lowering, Operand a, const Operand& b, std::int64_t b_k, std::int64_t b_n,
                         std::int64_t n, const std::optional<Operand>& bias, const Operand& out) {
  Matrices matrices{.a = std::move(a), .b = b, .out = out, .n = n, .k = 0, .b_k = b_k, .b_n = b_n};
  const bool in_bfloat16 = out.dtype == c10::kBFloat16 && lowering.is_constant(b) &&
                           matrices.a.rank() <= kernels::StridedCopy::kMaxRank;
  const c10::ScalarType type = in_bfloat16 ? c10::kBFloat16 : c10::kFloat;
  if (lowering.exact() || !all_of({&matrices.a, &matrices.b, &matrices.out}, type) ||
      matrices.a.rank() == 0) {
    return false;
  }
  matrices.k = matrices.a.size(-1);
  matrices.m = matrices.k == 0 ? 0 : static_cast<std::int64_t>(matrices.a.count()) / matrices.k;
  if (matrices.k == 0) return false;
  if (bias && (bias->dtype != type || !(bias->rank() == 1 || (bias->rank() == 2 && bias->size(0) == 1)) ||
               bias->size(-1) != n || (n > 1 && bias->stride(-1) != 1))) {
    return false;
  }
  if (!lowering.is_constant(matrices.b) && work_of(matrices) > kMostUnpacked) return false;
  if (out.count() == 0) return true;
  const auto out_rows = n == static_cast<std::int64_t>(out.count()) ? std::pair(std::int64_t{1}, n)
                        : out.size(-1) == n                         ? as_rows(out)
                                            : std::pair(std::int64_t{-1}, std::int64_t{0});
  const bool column = n == 1 && out.is_contiguous();  // of a product with a vector
  if (out_rows.first != matrices.m && !column) return false;
  if (n == static_cast<std::int64_t>(out.count()) && !out.is_contiguous()) return false;
  if (in_bfloat16) matrices.a = widened(lowering, matrices.a);
  auto a_rows = as_rows(matrices.a);
  if (a_rows.first < 0) {
    matrices.a = lowering.contiguous(matrices.a);
    a_rows = as_rows(matrices.a);
    if (a_rows.first < 0) return false;
  }
  matrices.a_row = a_rows.second;
  matrices.out_row = column ? 1 : out_rows.second;
  if (in_bfloat16) {
    emit_gemm<kernels::Bfloat16Bits>(lowering, matrices,
                                     bias ? std::optional(widened(lowering, *bias)) : std::nullopt);
  } else {
    emit_gemm<float>(lowering, matrices, bias);
  }
  return true;
}

// linear(x, weight [n, k], bias)
inline bool linear(Lowering& lowering, const TracedNode& node) {
  const auto x = lowering.input(node, 0), weight = lowering.input(node, 1);
  if (!x || !weight || weight->rank() != 2) return false;
  // LibTorch adds the bias to the rounded product in this case, and rounds again.
  const bool adds_later = x->rank() != 2 && !node.inputs[0].toTensor().is_contiguous();
  if (adds_later && x->dtype == c10::kBFloat16 && lowering.input(node, 2)) return false;
  return gemm_of_rows(lowering, *x, *weight, weight->stride(1), weight->stride(0), weight->size(0),
                      lowering.input(node, 2), lowering.output(node));
}

inline bool mm(Lowering& lowering, const TracedNode& node) {
  const auto a = lowering.input(node, 0), b = lowering.input(node, 1);
  if (!a || !b) return false;
  return gemm_of_rows(lowering, *a, *b, b->stride(0), b->stride(1), b->size(1), std::nullopt,
                      lowering.output(node));
}

// addmm(bias, a, b). Our kernels need a bias of one row, and alpha = beta = 1.
inline bool addmm(Lowering& lowering, const TracedNode& node) {
  const auto bias = lowering.input(node, 0), a = lowering.input(node, 1), b = lowering.input(node, 2);
  if (!bias || !a || !b || !is_one(node.inputs[3]) || !is_one(node.inputs[4])) return false;
  return gemm_of_rows(lowering, *a, *b, b->stride(0), b->stride(1), b->size(1), bias, lowering.output(node));
}

// The batch dimensions, which are all but the last two, and the strides of a batch that is broadcast to the
// batch dimensions of `under`.
inline Dims batch_sizes(const Operand& operand) {
  return Dims(operand.sizes.begin(), operand.sizes.end() - 2);
}
inline Dims batch_strides(Operand operand, const Operand& under) {
  operand.sizes.resize(operand.rank() - 2);
  operand.strides.resize(operand.sizes.size());
  return broadcast_strides(operand, batch_sizes(under));
}

// Calls visit(offsets) for each batch in order, with one offset for each of the strides. There is at least
// one batch.
template <std::size_t kCount, class Visit>
void each_batch(const Dims& sizes, const std::array<Dims, kCount>& strides, const Visit& visit) {
  std::vector<std::int64_t> index(sizes.size(), 0);
  std::array<std::int64_t, kCount> at{};
  while (true) {
    visit(at);
    std::size_t d = sizes.size();
    for (; d-- > 0;) {
      for (std::size_t i = 0; i < kCount; ++i) at[i] += strides[i][d];
      if (++index[d] < sizes[d]) break;
      for (std::size_t i = 0; i < kCount; ++i) at[i] -= strides[i][d] * sizes[d];
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

// Products of two batches, which broadcast.
inline bool batched(Lowering& lowering, Operand a, const Operand& b, const Operand& out) {
  if (lowering.exact() || !all_float({&a, &b, &out}) || out.rank() < 2) return false;
  Matrices matrices{.a = {}, .b = {}, .out = out, .m = a.size(-2), .n = b.size(-1), .k = a.size(-1)};
  if (matrices.k == 0 || out.size(-2) != matrices.m || out.size(-1) != matrices.n) return false;
  if (out.count() == 0) return true;
  if (out.stride(-1) != 1 && matrices.n != 1) return false;
  matrices.b = b;
  if (work_of(matrices) > kMostUnpacked) return false;
  if (!lowering.make_rows(a)) return false;
  matrices.a = a;
  matrices.a_row = a.stride(-2);
  matrices.out_row = out.stride(-2);
  matrices.b_k = b.stride(-2);
  matrices.b_n = b.stride(-1);
  c10::SmallVector<GemmStep::Batch, 1> batches;
  each_batch<3>(batch_sizes(out), {batch_strides(a, out), batch_strides(b, out), batch_strides(out, out)},
                [&](const std::array<std::int64_t, 3>& at) {
                  batches.push_back({at[0], at[1], at[2]});
                });
  if (!emit_batched_dot(lowering, matrices, batches))
    emit_gemm<float>(lowering, matrices, std::nullopt, std::move(batches));
  return true;
}

inline bool bmm(Lowering& lowering, const TracedNode& node) {
  const auto a = lowering.input(node, 0), b = lowering.input(node, 1);
  return a && b && batched(lowering, *a, *b, lowering.output(node));
}

inline bool matmul(Lowering& lowering, const TracedNode& node) {
  const auto a = lowering.input(node, 0), b = lowering.input(node, 1);
  if (!a || !b || a->rank() == 0 || b->rank() == 0) return false;
  const Operand out = lowering.output(node);
  if (b->rank() == 1) return gemm_of_rows(lowering, *a, *b, b->stride(0), 1, 1, std::nullopt, out);
  if (b->rank() == 2) {
    return gemm_of_rows(lowering, *a, *b, b->stride(0), b->stride(1), b->size(1), std::nullopt, out);
  }
  return a->rank() >= 2 && batched(lowering, *a, *b, out);
}

}  // namespace sr::replay::lower
