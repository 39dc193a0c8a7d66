// Products of 8-bit integers with a constant right side, and what scales their sums, which the product's step
// does before it writes them: the dynamic quantization of torchao and PT2E.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <sr/ops/matmul/dequantized_gemm.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/ops/matmul/int8_gemm_step.hpp>
#include <sr/ops/matmul/quantized_left.hpp>
#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/lowering/epilogues.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// _int_mm(a [m, k], b [k, n])
inline bool int_mm(Lowering& lowering, const TracedNode& node) {
  auto a = lowering.input(node, 0);
  const auto b = lowering.input(node, 1);
  const Operand out = lowering.output(node);
  if (!a || !b || !lowering.is_constant(*b) || b->dtype != c10::kChar || out.dtype != c10::kInt) return false;
  if (a->dtype != c10::kChar && a->dtype != c10::kByte) return false;
  if (out.count() == 0) return true;
  if (a->size(1) == 0 || !out.is_contiguous()) return false;
  std::vector<StorageId> reads{b->storage}, writes{out.storage};
  Int8GemmStep step =
      int8_product(lowering, *a, *b, {a->size(0), b->size(1), a->size(1), b->stride(0), b->stride(1)});
  const auto source =
      lowering.is_read_once(a->storage) ? quantized_left(lowering, *a, step.m, step.k) : std::nullopt;
  if (source) {
    quantize_in_step(lowering, step, *source, reads, writes);
  } else {
    if (!lowering.make_rows(*a)) return false;
    step.a = lowering.address(*a);
    step.a_row = a->stride(0);
    reads.push_back(a->storage);
  }
  step.out_row = step.n;
  step.out = lowering.address(out);
  lowering.emit(std::move(step), std::move(reads), std::move(writes));
  return true;
}

// Returns the step that makes the sums in `in`, and makes it write `out` at this stage. Returns null if
// another step reads the sums, if the step is at `stage` already, or if `other` is not complete before it
// runs.
inline Int8GemmStep* scale_sums(Lowering& lowering, const std::optional<Operand>& in, const Operand& out,
                                Int8GemmStep::Stage stage, const Operand* other = nullptr) {
  if (!in || !always_equal(in->sizes, out.sizes) || !always_equal(in->strides, out.strides)) return nullptr;
  Draft* const draft = lowering.sole_maker<Int8GemmStep>(*in, 1);
  if (draft == nullptr || static_cast<const Int8GemmStep&>(*draft->step.payload).stage >= stage)
    return nullptr;
  if (other != nullptr) {
    const std::uint32_t made = lowering.maker_of(other->storage);
    if (made != kNone && made >= lowering.maker_of(in->storage)) return nullptr;
  }
  auto* const step = take_over<Int8GemmStep>(lowering, *in, out);
  if (step == nullptr) return nullptr;
  step->stage = stage;
  if (other != nullptr) draft->reads.push_back(other->storage);
  return step;
}

// True if the operand has one float for each column of `in`.
inline bool is_row_of(const Operand& operand, const Operand& in) {
  if (!operand.is_float() || operand.rank() == 0 || operand.rank() > in.rank()) return false;
  for (std::size_t d = 0; d + 1 < operand.rank(); ++d) {
    if (!operand.sizes[d].is_constant() || operand.sizes[d] != 1) return false;
  }
  return Size::always_equal(operand.size(-1), in.size(-1)) && Size::always_equal(operand.stride(-1), 1);
}

// to(sums, float)
inline bool convert_sums(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  return in && in->dtype == c10::kInt && out.is_float() &&
         scale_sums(lowering, in, out, Int8GemmStep::Stage::as_floats) != nullptr;
}

// Multiplies the results of a step that quantizes its left operand by the scales of the rows, `by`.
inline bool scale_by_own_rows(Lowering& lowering, const Operand& in, const Operand& by, const Operand& out) {
  const auto* const maker = dynamic_cast<const Int8GemmStep*>(lowering.payload_of_maker(in.storage));
  if (maker == nullptr || !maker->rows.is_used ||
      !are_scales_of_rows(by, maker->rows.scales_of, maker->m, in))
    return false;
  Int8GemmStep* const step = scale_sums(lowering, in, out, Int8GemmStep::Stage::by_rows);
  if (step == nullptr) return false;
  step->row_factor = step->rows.scales;
  step->row_factor_stride = 1;
  step->has_row_factor = true;
  return true;
}

// in * by, in this order of arguments or the other.
inline bool multiply_sums(Lowering& lowering, const std::optional<Operand>& in,
                          const std::optional<Operand>& by, const Operand& out) {
  if (!in || !by || !in->is_float() || !out.is_float()) return false;
  if (scale_by_own_rows(lowering, *in, *by, out)) return true;
  if (const auto distance = distance_in_column(*by, *in)) {
    Int8GemmStep* const step = scale_sums(lowering, in, out, Int8GemmStep::Stage::by_rows, &*by);
    if (step == nullptr) return false;
    step->row_factor = lowering.address(*by);
    step->row_factor_stride = *distance;
    step->has_row_factor = true;
    return true;
  }
  if (!is_row_of(*by, *in)) return false;
  Int8GemmStep* const step = scale_sums(lowering, in, out, Int8GemmStep::Stage::by_columns, &*by);
  if (step == nullptr) return false;
  step->column_factor = lowering.address(*by);
  step->has_column_factor = true;
  return true;
}

inline bool multiply_sums(Lowering& lowering, const TracedNode& node) {
  const auto first = lowering.input(node, 0), second = lowering.input(node, 1);
  const Operand out = lowering.output(node);
  return multiply_sums(lowering, first, second, out) || multiply_sums(lowering, second, first, out);
}

inline bool add_to_sums(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0), bias = lowering.input(node, 1);
  const Operand out = lowering.output(node);
  const bool adds_bias =
      in && bias && in->is_float() && out.is_float() && is_one(node.inputs[2]) && is_row_of(*bias, *in);
  if (!adds_bias) return false;
  Int8GemmStep* const step = scale_sums(lowering, in, out, Int8GemmStep::Stage::with_bias, &*bias);
  if (step == nullptr) return false;
  step->bias = lowering.address(*bias);
  step->has_bias = true;
  return true;
}

inline bool clamp_sums(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || !in->is_float() || !out.is_float()) return false;
  Int8GemmStep* const step = scale_sums(lowering, in, out, Int8GemmStep::Stage::clamped);
  if (step != nullptr) step->shape.clamp_min = 0;
  return step != nullptr;
}

}  // namespace sr::replay::lower
