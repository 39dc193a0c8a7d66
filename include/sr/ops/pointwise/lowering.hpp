// Activations and arithmetic as vector ops of fused steps.
#pragma once

#include <cstddef>

#include <sr/kernels/vector_ops.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// add and sub: the third argument scales the second.
template <class VectorOp, class Scaled>
bool scaled(Lowering& lowering, const TracedNode& node) {
  if (is_one(node.inputs[2])) return plain<VectorOp>(lowering, node);
  return plain<Scaled>(lowering, node);
}

inline bool reverse_sub(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  return is_one(node.inputs[2]) && add_input(lowering, node, 1, inputs) &&
         add_input(lowering, node, 0, inputs) && emit<vector_ops::Sub>(lowering, node, inputs);
}

inline bool clamp(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  if (!add_input(lowering, node, 0, inputs)) return false;
  const bool has_min = !node.inputs[1].isNone();
  const bool has_max = !node.inputs[2].isNone();
  // Which of two zeros LibTorch returns depends on their positions.
  if (lowering.exact() && (node.inputs[1].isTensor() || node.inputs[2].isTensor())) return false;
  if (has_min && !add_input(lowering, node, 1, inputs)) return false;
  if (has_max && !add_input(lowering, node, 2, inputs)) return false;
  if (has_min && has_max) return emit<vector_ops::Clamp>(lowering, node, inputs);
  if (has_min) return emit<vector_ops::ClampMin>(lowering, node, inputs);
  return has_max && emit<vector_ops::ClampMax>(lowering, node, inputs);
}

inline bool relu6(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  if (!add_input(lowering, node, 0, inputs)) return false;
  inputs.emplace_back(0.0);
  inputs.emplace_back(6.0);
  return emit<vector_ops::Clamp>(lowering, node, inputs);
}

// The weight is one number, or one for each index of the second dimension.
inline bool prelu(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  if (!add_input(lowering, node, 0, inputs) || !add_input(lowering, node, 1, inputs)) return false;
  Operand& weight = *inputs[1].operand;
  const std::size_t rank = inputs[0].operand->rank();
  if (weight.rank() == 1 && weight.count() != 1 && rank > 2) {
    weight.sizes.resize(rank - 1, 1);
    weight.strides.resize(rank - 1, 1);
  }
  return emit<vector_ops::LeakyRelu>(lowering, node, inputs);
}

// (x, y, z, value): value * y is computed first.
template <class VectorOp>
bool add_scaled_pair(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!add_input(lowering, node, i, inputs)) return false;
  }
  const Operand out = lowering.output(node);
  const bool is_floating = out.is_float() || out.dtype == c10::kDouble;
  if (!is_floating || lowering.exact() || out.rank() > kernels::StridedCopy::kMaxRank) return false;
  if (out.count() != 0 && !is_one(node.inputs[3])) {
    const auto value = number(node.inputs[3]);
    const Operand scaled = lowering.temporary(out.sizes, out.dtype);
    if (!value || !emit_to<vector_ops::Mul>(lowering, {inputs[1], *value}, scaled)) return false;
    inputs[1] = scaled;
  }
  return emit<VectorOp>(lowering, node, inputs);
}

inline bool gelu(Lowering& lowering, const TracedNode& node) {
  if (node.inputs[1].toStringRef() == "none") return plain<vector_ops::GeluErf>(lowering, node);
  return plain<vector_ops::GeluTanh>(lowering, node);
}

inline bool elu(Lowering& lowering, const TracedNode& node) {
  return is_one(node.inputs[2]) && is_one(node.inputs[3]) && plain<vector_ops::Elu>(lowering, node);
}

inline bool power(Lowering& lowering, const TracedNode& node) {
  const auto exponent = number(node.inputs[1]);
  Inputs inputs;
  if (!exponent || !add_input(lowering, node, 0, inputs)) return false;
  if (*exponent == 2) return emit<vector_ops::Square>(lowering, node, inputs);
  if (*exponent == 3) return emit<vector_ops::Cube>(lowering, node, inputs);
  // ATen takes square roots in all dtypes but float16 (pow_tensor_scalar_kernel in
  // ATen/native/cpu/PowKernel.cpp). The root of -inf is NaN, and its power inf.
  const bool takes_roots = inputs[0].operand->dtype != c10::kHalf;
  if (*exponent == 0.5 && takes_roots) return emit<vector_ops::Sqrt>(lowering, node, inputs);
  if (*exponent == -0.5 && takes_roots) return emit<vector_ops::Rsqrt>(lowering, node, inputs);
  if (*exponent == -1) return emit<vector_ops::Reciprocal>(lowering, node, inputs);
  if (*exponent == -2) return emit<vector_ops::InverseSquare>(lowering, node, inputs);
  if (*exponent == 0 || *exponent == 1) return false;
  inputs.emplace_back(*exponent);
  return emit<vector_ops::Pow>(lowering, node, inputs);
}

}  // namespace sr::replay::lower
