// Comparisons, logic and selection: pointwise operators that read or make other types than fp32
// inside a fused step.
#pragma once

#include <cmath>

#include <ATen/ops/result_type_native.h>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/hooks.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

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

}  // namespace sr::replay::lower
