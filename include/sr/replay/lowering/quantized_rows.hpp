// Finds the floats that a graph has rounded to int8 with a scale for each row, as sr.quantize and torchao
// write it (quantization/int8_linear.hpp, frontend/export/quantization_formulas.hpp):
//
//   largest = maximum(amax(x, -1), -amin(x, -1))       where amax may be clamped at 0 from below, amin from
//   above scale = clamp(largest / divisor, min=least) clamp(round(x * (1.0 / scale)) + 0, low, high).to(int8)
//
// A product can then round the rows itself. Its bits are those of the graph.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <ATen/WrapDimUtils.h>

#include <sr/replay/lowering/dequantized.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

struct QuantizedFloats {
  Operand floats, scale;
  double divisor = 0, least_scale = 0, low = 0, high = 0;
};

// Argument `i` of a node if it is a number, and the same in every call.
inline std::optional<double> fixed_number(const TracedNode& node, std::size_t i) {
  if (i >= node.inputs.size() || node.dynamic_inputs[i] != kNone) return std::nullopt;
  return number(node.inputs[i]);
}

// Whether every element is 0: full_like(..., 0), also of another type.
inline bool is_zeros(const Lowering& lowering, std::optional<Operand> operand) {
  while (operand) {
    if (const TracedNode* const filled = sole_writer(lowering, *operand, "aten::full_like"))
      return fixed_number(*filled, 1) == 0.0;
    const TracedNode* const cast = sole_writer(lowering, *operand, "aten::to");
    operand = cast != nullptr ? lowering.input(*cast, 0) : std::nullopt;
  }
  return false;
}

// Whether `operand` holds the extreme of each row of `floats` that the operator finds, and perhaps 0 as a
// bound.
inline bool is_extreme(const Lowering& lowering, std::optional<Operand> operand, const char* name,
                       const Operand& floats) {
  const bool is_largest = std::string_view(name) == "aten::amax";
  const std::size_t bound = is_largest ? 1 : 2;  // of clamp(self, min, max)
  if (!operand) return false;
  if (const TracedNode* const clamp = sole_writer(lowering, *operand, "aten::clamp")) {
    if (fixed_number(*clamp, bound) != 0.0 || !clamp->inputs[3 - bound].isNone()) return false;
    operand = lowering.input(*clamp, 0);
  }
  const TracedNode* const extreme = operand ? sole_writer(lowering, *operand, name) : nullptr;
  if (extreme == nullptr || !extreme->inputs[1].isIntList()) return false;
  const auto rank = static_cast<std::int64_t>(floats.rank());
  const auto dims = extreme->inputs[1].toIntVector();
  return lowering.input(*extreme, 0) == floats && dims.size() == 1 &&
         at::maybe_wrap_dim(dims[0], rank) == rank - 1;
}

// Whether `operand` holds the largest magnitude of each row of `floats`.
inline bool is_largest_magnitude(const Lowering& lowering, const Operand& operand, const Operand& floats) {
  const TracedNode* const maximum = sole_writer(lowering, operand, "aten::maximum");
  for (const std::size_t i : {0, 1}) {
    const auto negated = maximum != nullptr ? lowering.input(*maximum, i) : std::nullopt;
    const TracedNode* const negate = negated ? sole_writer(lowering, *negated, "aten::neg") : nullptr;
    if (negate == nullptr) continue;
    return is_extreme(lowering, lowering.input(*negate, 0), "aten::amin", floats) &&
           is_extreme(lowering, lowering.input(*maximum, 1 - i), "aten::amax", floats);
  }
  return false;
}

// Fills in how the scale was computed.
inline bool find_scale(const Lowering& lowering, QuantizedFloats& found) {
  const TracedNode* const clamp = sole_writer(lowering, found.scale, "aten::clamp");
  const auto least = clamp != nullptr ? fixed_number(*clamp, 1) : std::nullopt;
  const auto quotient = least && clamp->inputs[2].isNone() ? lowering.input(*clamp, 0) : std::nullopt;
  const TracedNode* const divide = quotient ? sole_writer(lowering, *quotient, "aten::div") : nullptr;
  const auto divisor =
      divide != nullptr && divide->inputs.size() == 2 ? fixed_number(*divide, 1) : std::nullopt;
  const auto largest = divisor ? lowering.input(*divide, 0) : std::nullopt;
  if (!largest || !is_largest_magnitude(lowering, *largest, found.floats)) return false;
  found.divisor = *divisor;
  found.least_scale = *least;
  return true;
}

// The scale whose reciprocal the operand is, as `1.0 / scale` is recorded.
inline std::optional<Operand> find_inverted(const Lowering& lowering, const std::optional<Operand>& operand) {
  const TracedNode* const multiply = operand ? sole_writer(lowering, *operand, "aten::mul") : nullptr;
  const auto inverse =
      multiply != nullptr && fixed_number(*multiply, 1) == 1.0 ? lowering.input(*multiply, 0) : std::nullopt;
  const TracedNode* const reciprocal =
      inverse ? sole_writer(lowering, *inverse, "aten::reciprocal") : nullptr;
  return reciprocal != nullptr ? lowering.input(*reciprocal, 0) : std::nullopt;
}

// How `integers`, of int8, were computed; nothing if it was otherwise.
inline std::optional<QuantizedFloats> find_quantized(const Lowering& lowering, const Operand& integers) {
  const auto argument = [&](const std::optional<Operand>& of, const char* name,
                            std::size_t i) -> std::optional<Operand> {
    const TracedNode* const node = of ? sole_writer(lowering, *of, name) : nullptr;
    return node != nullptr ? lowering.input(*node, i) : std::nullopt;
  };
  const auto clamped = argument(integers, "aten::to", 0);
  const TracedNode* const clamp =
      clamped && clamped->is_float() ? sole_writer(lowering, *clamped, "aten::clamp") : nullptr;
  if (clamp == nullptr) return std::nullopt;
  const auto low = fixed_number(*clamp, 1), high = fixed_number(*clamp, 2);
  using Int8 = std::numeric_limits<std::int8_t>;
  if (!low || !high || *low < Int8::min() || *high > Int8::max() || *low != std::trunc(*low) ||
      *high != std::trunc(*high))
    return std::nullopt;
  auto steps = lowering.input(*clamp, 0);
  const TracedNode* const add = steps ? sole_writer(lowering, *steps, "aten::add") : nullptr;
  if (add != nullptr) {
    if (!is_one(add->inputs[2]) || !is_zeros(lowering, lowering.input(*add, 1))) return std::nullopt;
    steps = lowering.input(*add, 0);
  }
  const TracedNode* const round = steps ? sole_writer(lowering, *steps, "aten::round") : nullptr;
  if (round == nullptr || round->inputs.size() != 1) return std::nullopt;
  const auto scaled = lowering.input(*round, 0);
  const auto floats = argument(scaled, "aten::mul", 0);
  const auto scale = find_inverted(lowering, argument(scaled, "aten::mul", 1));
  if (!floats || !scale || !floats->is_float() || !scale->is_float() || !scale->is_contiguous())
    return std::nullopt;
  const Trace& trace = lowering.trace();
  const bool changes = floats->storage >= trace.storages.size() ||
                       trace.storages[floats->storage].overwritten ||
                       lowering.is_written_in_place(floats->storage);
  QuantizedFloats found{*floats, *scale, 0, 0, *low, *high};
  if (changes || !find_scale(lowering, found)) return std::nullopt;
  return found;
}

}  // namespace sr::replay::lower
