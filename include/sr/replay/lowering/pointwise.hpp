// Pointwise arithmetic and functions as vector ops of fused steps: all on floats, most on doubles, simple
// ones also on 64-bit integers.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/vector_ops.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

namespace lower {

namespace vector_ops = kernels::vector_ops;
using Inputs = c10::SmallVector<PointwiseInput, 3>;

inline std::optional<double> number(const c10::IValue& value) {
  if (value.isDouble()) return value.toDouble();
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isBool()) return value.toBool() ? 1.0 : 0.0;
  return std::nullopt;
}

inline bool is_one(const c10::IValue& value) {
  return number(value) == 1.0;
}

// The type in which our kernels compute results of this type. As in LibTorch, bfloat16 and float16 are
// computed in floats.
inline std::optional<c10::ScalarType> computed_type(c10::ScalarType result) {
  if (result == c10::kFloat || is_16_bit_float(result)) return c10::kFloat;
  if (result == c10::kDouble || result == c10::kLong) return result;
  return std::nullopt;
}

template <class VectorOp>
std::optional<Compute> compute_of(c10::ScalarType type) {
  if (type == c10::kFloat) return kernels::loops<VectorOp>();
  const kernels::Loops64* const wide =
      type == c10::kDouble ? kernels::loops_of_doubles<VectorOp>() : kernels::loops_of_integers<VectorOp>();
  if (wide == nullptr) return std::nullopt;
  return Compute(*wide, type);
}

// Whether LibTorch converts the operand to `type` before it computes with it.
inline bool is_readable(const Operand& operand, c10::ScalarType type) {
  if (type == c10::kLong) return c10::isIntegralType(operand.dtype, /*includeBool=*/true);
  return element_of(operand.dtype).has_value();
}

// Adds argument `i`, a tensor or a number, as an input of a computation in `type`.
inline bool add_input(Lowering& lowering, const TracedNode& node, std::size_t i, c10::ScalarType type,
                      Inputs& inputs) {
  constexpr double kExactIntegers = 0x1p53;  // numbers are kept as doubles
  if (node.inputs[i].isTensor()) {
    const auto operand = lowering.input(node, i);
    if (!operand || !is_readable(*operand, type)) return false;
    inputs.emplace_back(*operand);
    return true;
  }
  const auto value = number(node.inputs[i]);
  if (!value) return false;
  if (type == c10::kLong && (node.inputs[i].isDouble() || std::fabs(*value) > kExactIntegers)) return false;
  inputs.emplace_back(*value);
  return true;
}

// Computes in the type of the result.
inline bool add_input(Lowering& lowering, const TracedNode& node, std::size_t i, Inputs& inputs) {
  const c10::ScalarType result = lowering.output(node).dtype;
  const auto type = computed_type(result);
  if (!type || !add_input(lowering, node, i, *type, inputs)) return false;
  return !is_16_bit_float(result) || !inputs.back().operand || inputs.back().operand->dtype == result;
}

template <class VectorOp, class... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<VectorOp, Others> || ...);

// LibTorch's kernels for 16-bit floats round only the result. Most of them first round a number to 16 bits.
template <class VectorOp>
bool is_exact_in_16_bits(const Inputs& inputs) {
  using namespace vector_ops;  // NOLINT(google-build-using-namespace)
  if (kIsOneOf<VectorOp, Pow, Rsqrt, Cube, InverseSquare, Threshold, Softplus, Elu, AddRelu, Lerp, AddProduct,
               AddQuotient>)
    return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].operand && !(i == 1 && kIsOneOf<VectorOp, Mul, Div>)) return false;
  }
  return true;
}

template <class VectorOp>
bool emit_to(Lowering& lowering, const Inputs& inputs, const Operand& out) {
  const auto type = computed_type(out.dtype);
  const auto compute = type ? compute_of<VectorOp>(*type) : std::nullopt;
  if (!compute || out.rank() > kernels::StridedCopy::kMaxRank) return false;
  if (is_16_bit_float(out.dtype) && !is_exact_in_16_bits<VectorOp>(inputs)) return false;
  if (lowering.exact() && !VectorOp::exact && *type != c10::kLong) return false;
  if (out.count() != 0) lowering.pointwise(*compute, inputs, out);
  return true;
}
template <class VectorOp>
bool emit(Lowering& lowering, const TracedNode& node, const Inputs& inputs) {
  return emit_to<VectorOp>(lowering, inputs, lowering.output(node));
}

// The operands of the vector op are the node's first arguments.
template <class VectorOp>
bool plain(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  for (std::size_t i = 0; i < VectorOp::operands; ++i) {
    if (!add_input(lowering, node, i, inputs)) return false;
  }
  return emit<VectorOp>(lowering, node, inputs);
}

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

}  // namespace lower
}  // namespace sr::replay
