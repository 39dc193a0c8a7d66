// Comparisons, logic, selection and conversions: pointwise operators that read or make other types than fp32
// inside a fused step.
#pragma once

#include <cmath>

#include <ATen/ops/result_type_native.h>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/hooks.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// Computes in `type`, whatever the type of the result.
template <class VectorOp>
bool emit_in(Lowering& lowering, c10::ScalarType type, const Inputs& inputs, const Operand& out) {
  const auto compute = compute_of<VectorOp>(type);
  if (!compute || out.rank() > kernels::StridedCopy::kMaxRank) return false;
  if (out.count() != 0) lowering.pointwise(*compute, inputs, out);
  return true;
}

// The type of our kernels in which the first two arguments can be compared as LibTorch does.
inline std::optional<c10::ScalarType> compared_type(const TracedNode& node) {
  if (!node.inputs[0].isTensor()) return std::nullopt;
  const at::Tensor& first = node.inputs[0].toTensor();
  const bool is_number = node.inputs[1].isScalar();
  if (!is_number && !node.inputs[1].isTensor()) return std::nullopt;
  const c10::ScalarType type = is_number ? at::native::result_type(first, node.inputs[1].toScalar())
                                         : at::native::result_type(first, node.inputs[1].toTensor());
  if (c10::isIntegralType(type, /*includeBool=*/true)) {
    // LibTorch converts numbers and 0-dim tensors to the small integer type, which may change them.
    const bool is_kept =
        !is_number && first.scalar_type() == type && node.inputs[1].toTensor().scalar_type() == type;
    if (type == c10::kLong || (is_kept && type == c10::kInt)) return c10::kLong;
    return is_kept ? std::optional(c10::kFloat) : std::nullopt;
  }
  return type == c10::kFloat || type == c10::kDouble ? std::optional(type) : std::nullopt;
}

template <class VectorOp>
bool compare(Lowering& lowering, const TracedNode& node) {
  const auto type = compared_type(node);
  const Operand out = lowering.output(node);
  Inputs inputs;
  return type && out.dtype == c10::kBool && add_input(lowering, node, 0, *type, inputs) &&
         add_input(lowering, node, 1, *type, inputs) && emit_in<VectorOp>(lowering, *type, inputs, out);
}

// Converted to float, only 0 becomes 0, except among doubles.
template <class VectorOp>
bool logical(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  c10::ScalarType type = c10::kFloat;
  for (std::size_t i = 0; i < VectorOp::operands; ++i) {
    if (!node.inputs[i].isTensor() || !add_input(lowering, node, i, c10::kFloat, inputs)) return false;
    if (inputs.back().operand->dtype == c10::kDouble) type = c10::kDouble;
  }
  const Operand out = lowering.output(node);
  return out.dtype == c10::kBool && emit_in<VectorOp>(lowering, type, inputs, out);
}

// For bools only.
template <class VectorOp>
bool bitwise(Lowering& lowering, const TracedNode& node) {
  for (std::size_t i = 0; i < VectorOp::operands; ++i) {
    const auto operand = lowering.input(node, i);
    if (!operand || operand->dtype != c10::kBool) return false;
  }
  return logical<VectorOp>(lowering, node);
}

inline bool is_nan(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || out.dtype != c10::kBool || (!in->is_float() && in->dtype != c10::kDouble)) return false;
  return emit_in<vector_ops::IsNan>(lowering, in->dtype, {*in}, out);
}

// where(condition, yes, no)
inline bool choose(Lowering& lowering, const TracedNode& node) {
  const auto condition = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  const auto type = out.dtype == c10::kBool ? c10::kFloat : computed_type(out.dtype);
  if (!type || !condition || condition->dtype != c10::kBool) return false;
  Inputs inputs{*condition};
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const bool is_as_result =
        node.inputs[i].isTensor() && node.inputs[i].toTensor().scalar_type() == out.dtype;
    if ((out.dtype != *type && !is_as_result) || !add_input(lowering, node, i, *type, inputs)) return false;
  }
  return emit_in<vector_ops::Where>(lowering, *type, inputs, out);
}

// masked_fill(x, mask, value)
inline bool masked_fill(Lowering& lowering, const TracedNode& node) {
  const auto mask = lowering.input(node, 1);
  const Operand out = lowering.output(node);
  const auto type = computed_type(out.dtype);
  Inputs inputs;
  if (!mask || mask->dtype != c10::kBool || type != out.dtype || !add_input(lowering, node, 0, *type, inputs))
    return false;
  inputs.emplace_back(*mask);
  return add_input(lowering, node, 2, *type, inputs) &&
         emit_in<vector_ops::MaskedFill>(lowering, *type, inputs, out);
}

// A type through which every value is converted to the same result as directly; nothing if there is none.
inline std::optional<c10::ScalarType> type_between(c10::ScalarType from, c10::ScalarType to) {
  if (!element_of(from) || !element_of(to)) return std::nullopt;
  const bool is_wide = from == c10::kInt || from == c10::kLong || from == c10::kDouble;
  const bool is_small = to == c10::kByte || to == c10::kChar || to == c10::kShort;
  if (is_small) return is_wide ? std::nullopt : std::optional(c10::kFloat);
  if (!is_wide || to == c10::kFloat || is_16_bit_float(to)) return c10::kFloat;
  return from == c10::kDouble || to == c10::kDouble ? c10::kDouble : c10::kLong;
}

// Whether a conversion between floats and doubles belongs to a step in doubles: it does if an operation
// before or behind it computes in doubles.
inline bool is_cast_in_doubles(const Lowering& lowering, const Operand& in, const Operand& out) {
  const auto maker = lowering.type_of_maker(in);
  if (in.dtype == c10::kDouble) return out.is_float() && maker == c10::kDouble;
  return out.dtype == c10::kDouble && maker != c10::kFloat && lowering.is_read_by_node(out);
}

// Fills the result with a number, which operations of the same step read as they read any operand.
inline bool fill_with(Lowering& lowering, const TracedNode& node, double value) {
  const Operand out = lowering.output(node);
  const auto type = computed_type(out.dtype);
  return type == out.dtype && emit_in<vector_ops::Same>(lowering, *type, {value}, out);
}
template <int kValue>
bool fill_like(Lowering& lowering, const TracedNode& node) {
  return fill_with(lowering, node, kValue);
}
// full_like(x, value)
inline bool fill(Lowering& lowering, const TracedNode& node) {
  const auto value = number(node.inputs[1]);
  if (!value || (node.inputs[1].isInt() && std::fabs(*value) > 0x1p53)) return false;
  return (lowering.output(node).dtype != c10::kLong || node.inputs[1].isInt()) &&
         fill_with(lowering, node, *value);
}

// Converts the first argument to the type of the result.
inline bool cast(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || in->sizes != out.sizes || node.inputs[0].toTensor().is_neg()) return false;
  if (in->dtype == out.dtype) return copy(lowering, node);
  auto type = type_between(in->dtype, out.dtype);
  if (!type) return false;
  if (is_cast_in_doubles(lowering, *in, out)) type = c10::kDouble;
  // Operations of this step that read it must see 0 or 1, too.
  if (out.dtype == c10::kBool) return emit_in<vector_ops::NotEqual>(lowering, *type, {*in, 0.0}, out);
  return emit_in<vector_ops::Same>(lowering, *type, {*in}, out);
}
inline bool cast_or_epilogue(Lowering& lowering, const TracedNode& node) {
  return absorbed_or<Epilogue::convert, &cast>(lowering, node);
}

}  // namespace sr::replay::lower
