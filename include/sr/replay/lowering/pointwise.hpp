// Emits vector ops into fused steps: all on floats, most on doubles, simple ones also on 64-bit integers.
#pragma once

#include <cmath>
#include <optional>
#include <string>
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

// Argument `i` of a node if it is a number, and the same in every call.
inline std::optional<double> fixed_number(const TracedNode& node, std::size_t i) {
  if (i >= node.inputs.size() || node.dynamic_inputs[i] != kNone) return std::nullopt;
  return number(node.inputs[i]);
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
  static_assert(
      vector_ops::Builtin::index_of<VectorOp>() < vector_ops::Builtin::size,
      "List the vector op in kernels/vector_ops.hpp: the kernels of each instruction set are compiled from "
      "that list.");
  if (type == c10::kFloat) return kernels::loops<VectorOp>();
  const kernels::Loops64* const wide =
      type == c10::kDouble ? kernels::loops_of_doubles<VectorOp>() : kernels::loops_of_integers<VectorOp>();
  if (wide == nullptr) return std::nullopt;
  return Compute(*wide, type);
}

// True if LibTorch converts the operand to `type` before it computes with it.
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

// True if LibTorch's kernels for 16-bit floats give the same bits as a computation in floats that is rounded
// once. Most of them first round a number to 16 bits.
template <class VectorOp>
bool is_exact_in_16_bits(const Inputs& inputs) {
  if (!VectorOp::on_halves) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].operand && !(i == 1 && VectorOp::on_halves_by_numbers)) return false;
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

// Computes in `type`, whatever the type of the result.
template <class VectorOp>
bool emit_in(Lowering& lowering, c10::ScalarType type, const Inputs& inputs, const Operand& out) {
  const auto compute = compute_of<VectorOp>(type);
  if (!compute || out.rank() > kernels::StridedCopy::kMaxRank) return false;
  if (out.count() != 0) lowering.pointwise(*compute, inputs, out);
  return true;
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

}  // namespace lower
}  // namespace sr::replay
