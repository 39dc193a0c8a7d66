// Pointwise operations on fp32 tensors and numbers: lanes of a fused step.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/lanes.hpp>
#include <sr/plan/lower_table.hpp>
#include <sr/plan/lowering.hpp>

namespace sr::plan {

namespace lower {

namespace lanes = kernels::lanes;
using Inputs = c10::SmallVector<PointwiseInput, 3>;

// A number argument as the kernels of ATen take it.
inline std::optional<float> number(const c10::IValue& value) {
  if (value.isDouble()) return static_cast<float>(value.toDouble());
  if (value.isInt()) return static_cast<float>(value.toInt());
  if (value.isBool()) return value.toBool() ? 1.0F : 0.0F;
  return std::nullopt;
}

inline bool is_one(const c10::IValue& value) {
  return number(value) == 1.0F;
}

inline bool add_input(Lowering& lowering, const TracedNode& node, std::size_t i, Inputs& inputs) {
  if (node.inputs[i].isTensor()) {
    const auto operand = lowering.input(node, i);
    if (!operand || !operand->is_float()) return false;
    inputs.emplace_back(*operand);
    return true;
  }
  const auto value = number(node.inputs[i]);
  if (!value) return false;
  inputs.emplace_back(static_cast<double>(*value));
  return true;
}

template <class Lane>
bool emit(Lowering& lowering, const TracedNode& node, const Inputs& inputs) {
  const Operand out = lowering.output(node);
  if (!out.is_float() || (lowering.exact() && !Lane::exact) || out.rank() > kernels::StridedCopy::kMaxRank)
    return false;
  if (out.count() != 0) lowering.pointwise(kernels::loops<Lane>(), inputs, out);
  return true;
}

// The first arguments of the node are the operands of the lane.
template <class Lane>
bool plain(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  for (std::size_t i = 0; i < Lane::operands; ++i) {
    if (!add_input(lowering, node, i, inputs)) return false;
  }
  return emit<Lane>(lowering, node, inputs);
}

// add and sub: the third argument scales the second.
template <class Lane, class Scaled>
bool scaled(Lowering& lowering, const TracedNode& node) {
  if (is_one(node.inputs[2])) return plain<Lane>(lowering, node);
  return plain<Scaled>(lowering, node);
}

inline bool reverse_sub(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  return is_one(node.inputs[2]) && add_input(lowering, node, 1, inputs) &&
         add_input(lowering, node, 0, inputs) && emit<lanes::Sub>(lowering, node, inputs);
}

inline bool clamp(Lowering& lowering, const TracedNode& node) {
  Inputs inputs;
  if (!add_input(lowering, node, 0, inputs)) return false;
  const bool has_min = !node.inputs[1].isNone();
  const bool has_max = !node.inputs[2].isNone();
  if (has_min && !add_input(lowering, node, 1, inputs)) return false;
  if (has_max && !add_input(lowering, node, 2, inputs)) return false;
  if (has_min && has_max) return emit<lanes::Clamp>(lowering, node, inputs);
  if (has_min) return emit<lanes::ClampMin>(lowering, node, inputs);
  return has_max && emit<lanes::ClampMax>(lowering, node, inputs);
}

inline bool gelu(Lowering& lowering, const TracedNode& node) {
  if (node.inputs[1].toStringRef() == "none") return plain<lanes::GeluErf>(lowering, node);
  return plain<lanes::GeluTanh>(lowering, node);
}

inline bool elu(Lowering& lowering, const TracedNode& node) {
  return is_one(node.inputs[2]) && is_one(node.inputs[3]) && plain<lanes::Elu>(lowering, node);
}

inline bool power(Lowering& lowering, const TracedNode& node) {
  const auto exponent = number(node.inputs[1]);
  Inputs inputs;
  if (!exponent || !add_input(lowering, node, 0, inputs)) return false;
  if (*exponent == 2) return emit<lanes::Square>(lowering, node, inputs);
  if (*exponent == 0.5F) return emit<lanes::Sqrt>(lowering, node, inputs);
  if (*exponent == -1) return emit<lanes::Reciprocal>(lowering, node, inputs);
  return false;
}

inline void add_pointwise(LowerTable& table) {
  table.insert({
      {"aten::add.Tensor", &scaled<lanes::Add, lanes::AddScaled>},
      {"aten::add.Scalar", &scaled<lanes::Add, lanes::AddScaled>},
      {"aten::sub.Tensor", &scaled<lanes::Sub, lanes::SubScaled>},
      {"aten::sub.Scalar", &scaled<lanes::Sub, lanes::SubScaled>},
      {"aten::rsub.Scalar", &reverse_sub},
      {"aten::rsub.Tensor", &reverse_sub},
      {"aten::mul.Tensor", &plain<lanes::Mul>},
      {"aten::mul.Scalar", &plain<lanes::Mul>},
      {"aten::div.Tensor", &plain<lanes::Div>},
      {"aten::div.Scalar", &plain<lanes::Div>},
      {"aten::maximum", &plain<lanes::Maximum>},
      {"aten::minimum", &plain<lanes::Minimum>},
      {"aten::max.other", &plain<lanes::Maximum>},
      {"aten::min.other", &plain<lanes::Minimum>},
      {"aten::leaky_relu", &plain<lanes::LeakyRelu>},
      {"aten::clamp", &clamp},
      {"aten::hardtanh", &plain<lanes::Clamp>},
      {"aten::clamp_min", &plain<lanes::ClampMin>},
      {"aten::clamp_max", &plain<lanes::ClampMax>},
      {"aten::sigmoid", &plain<lanes::Sigmoid>},
      {"aten::tanh", &plain<lanes::Tanh>},
      {"aten::exp", &plain<lanes::Exp>},
      {"aten::expm1", &plain<lanes::Expm1>},
      {"aten::log", &plain<lanes::Log>},
      {"aten::log1p", &plain<lanes::Log1p>},
      {"aten::erf", &plain<lanes::Erf>},
      {"aten::sqrt", &plain<lanes::Sqrt>},
      {"aten::rsqrt", &plain<lanes::Rsqrt>},
      {"aten::reciprocal", &plain<lanes::Reciprocal>},
      {"aten::neg", &plain<lanes::Neg>},
      {"aten::abs", &plain<lanes::Abs>},
      {"aten::sign", &plain<lanes::Sign>},
      {"aten::square", &plain<lanes::Square>},
      {"aten::pow.Tensor_Scalar", &power},
      {"aten::floor", &plain<lanes::Floor>},
      {"aten::ceil", &plain<lanes::Ceil>},
      {"aten::round", &plain<lanes::Round>},
      {"aten::trunc", &plain<lanes::Trunc>},
      {"aten::silu", &plain<lanes::Silu>},
      {"aten::gelu", &gelu},
      {"aten::elu", &elu},
      {"aten::hardsigmoid", &plain<lanes::Hardsigmoid>},
      {"aten::hardswish", &plain<lanes::Hardswish>},
      {"aten::threshold", &plain<lanes::Threshold>},
  });
}

}  // namespace lower
}  // namespace sr::plan
