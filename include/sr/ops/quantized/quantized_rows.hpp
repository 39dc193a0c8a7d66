// Recognizes dynamic quantization of rows to int8, as sr.quantize and torchao write it
// (quantization/quantized_linear.hpp, frontend/export/quantization_formulas.hpp). The int8 product can then
// quantize its left operand itself, with bit-identical results.
//
// The largest magnitude of a row is maximum(amax(x, -1), -amin(x, -1)). Both extremes may first be bounded by
// 0, with clamp or, in decomposed programs, with maximum and minimum. The scale is clamp(largest / divisor,
// min=least_scale). The integers are clamp(round(x * (1.0 / scale)) + 0, low, high).to(int8); the addition of
// 0 may be missing.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <ATen/WrapDimUtils.h>

#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// The quantized floats, their scales, and the numbers of the formula above.
struct QuantizedFloats {
  Operand floats, scale;
  double divisor = 0, least_scale = 0, low = 0, high = 0;
};

inline const TracedNode* sole_writer(const Lowering& lowering, const std::optional<Operand>& operand,
                                     std::string_view name) {
  return operand ? sole_writer(lowering, *operand, name) : nullptr;
}

// Argument `i` of the node that computes a tensor by the operator; nothing if there is no such node.
inline std::optional<Operand> argument_of_writer(const Lowering& lowering,
                                                 const std::optional<Operand>& operand, std::string_view name,
                                                 std::size_t i) {
  const TracedNode* const writer = sole_writer(lowering, operand, name);
  return writer != nullptr ? lowering.input(*writer, i) : std::nullopt;
}

// True if the operand is full_like(..., 0), perhaps converted to another dtype.
inline bool is_zeros(const Lowering& lowering, std::optional<Operand> operand) {
  while (operand) {
    if (const TracedNode* const filled = sole_writer(lowering, operand, "aten::full_like"))
      return fixed_number(*filled, 1) == 0.0;
    operand = argument_of_writer(lowering, operand, "aten::to", 0);
  }
  return false;
}

// True if the operand is amax or amin (`name`) of each row of `floats`, perhaps bounded by 0. `bound` is the
// position of the argument of clamp that is 0 then: 1 for min, 2 for max.
inline bool is_extreme(const Lowering& lowering, std::optional<Operand> operand, std::string_view name,
                       std::size_t bound, const Operand& floats) {
  if (const TracedNode* const clamp = sole_writer(lowering, operand, "aten::clamp")) {
    if (fixed_number(*clamp, bound) != 0.0 || !clamp->inputs[3 - bound].isNone()) return false;
    operand = lowering.input(*clamp, 0);
  }
  const std::string_view bounding = name == "aten::amin" ? "aten::minimum" : "aten::maximum";
  if (const TracedNode* const bounded = sole_writer(lowering, operand, bounding)) {
    if (!is_zeros(lowering, lowering.input(*bounded, 1))) return false;
    operand = lowering.input(*bounded, 0);
  }
  const TracedNode* const extreme = sole_writer(lowering, operand, name);
  if (extreme == nullptr || !extreme->inputs[1].isIntList()) return false;
  const auto rank = static_cast<std::int64_t>(floats.rank());
  const auto dims = extreme->inputs[1].toIntVector();
  return lowering.input(*extreme, 0) == floats && dims.size() == 1 &&
         at::maybe_wrap_dim(dims[0], rank) == rank - 1;
}

// True if `operand` holds the largest magnitude of each row of `floats`.
inline bool is_largest_magnitude(const Lowering& lowering, const std::optional<Operand>& operand,
                                 const Operand& floats) {
  const TracedNode* const maximum = sole_writer(lowering, operand, "aten::maximum");
  if (maximum == nullptr) return false;
  const auto first = lowering.input(*maximum, 0), second = lowering.input(*maximum, 1);
  const bool is_first_negated = sole_writer(lowering, first, "aten::neg") != nullptr;
  const auto lowest = argument_of_writer(lowering, is_first_negated ? first : second, "aten::neg", 0);
  return is_extreme(lowering, lowest, "aten::amin", 2, floats) &&
         is_extreme(lowering, is_first_negated ? second : first, "aten::amax", 1, floats);
}

// Sets the divisor and the least scale. Returns false if the scale has another formula.
inline bool find_scale(const Lowering& lowering, QuantizedFloats& found) {
  const TracedNode* const clamp = sole_writer(lowering, found.scale, "aten::clamp");
  if (clamp == nullptr || !clamp->inputs[2].isNone()) return false;
  const TracedNode* const divide = sole_writer(lowering, lowering.input(*clamp, 0), "aten::div");
  if (divide == nullptr || divide->inputs.size() != 2) return false;
  const auto least = fixed_number(*clamp, 1), divisor = fixed_number(*divide, 1);
  if (!least || !divisor || !is_largest_magnitude(lowering, lowering.input(*divide, 0), found.floats))
    return false;
  found.divisor = *divisor;
  found.least_scale = *least;
  return true;
}

// Sets the bounds of the integers. Returns the operand of `round`, or nothing if the integers have another
// formula.
inline std::optional<Operand> find_rounded(const Lowering& lowering, const Operand& integers,
                                           QuantizedFloats& found) {
  const auto clamped = argument_of_writer(lowering, integers, "aten::to", 0);
  const TracedNode* const clamp =
      clamped && clamped->is_float() ? sole_writer(lowering, clamped, "aten::clamp") : nullptr;
  if (clamp == nullptr) return std::nullopt;
  using Int8 = std::numeric_limits<std::int8_t>;
  const auto low = fixed_number(*clamp, 1), high = fixed_number(*clamp, 2);
  const auto is_whole = [](double bound) { return bound == std::trunc(bound); };
  if (!low || !high || *low < Int8::min() || *high > Int8::max() || !is_whole(*low) || !is_whole(*high))
    return std::nullopt;
  found.low = *low;
  found.high = *high;
  auto steps = lowering.input(*clamp, 0);
  if (const TracedNode* const add = sole_writer(lowering, steps, "aten::add")) {
    if (!is_one(add->inputs[2]) || !is_zeros(lowering, lowering.input(*add, 1))) return std::nullopt;
    steps = lowering.input(*add, 0);
  }
  const TracedNode* const round = sole_writer(lowering, steps, "aten::round");
  return round != nullptr && round->inputs.size() == 1 ? lowering.input(*round, 0) : std::nullopt;
}

// Returns nothing if `integers`, a tensor of int8, has another formula.
inline std::optional<QuantizedFloats> find_quantized(const Lowering& lowering, const Operand& integers) {
  QuantizedFloats found;
  const auto rounded = find_rounded(lowering, integers, found);
  const auto floats = argument_of_writer(lowering, rounded, "aten::mul", 0);
  const auto inverse = argument_of_writer(lowering, rounded, "aten::mul", 1);
  // `1.0 / scale` is recorded as a reciprocal times 1.
  const TracedNode* const times_one = sole_writer(lowering, inverse, "aten::mul");
  if (times_one == nullptr || fixed_number(*times_one, 1) != 1.0) return std::nullopt;
  const auto scale = argument_of_writer(lowering, lowering.input(*times_one, 0), "aten::reciprocal", 0);
  if (!floats || !scale || !floats->is_float() || !scale->is_float() || !scale->is_contiguous())
    return std::nullopt;
  const Trace& trace = lowering.trace();
  if (floats->storage >= trace.storages.size() || trace.storages[floats->storage].overwritten ||
      lowering.is_written_in_place(floats->storage))
    return std::nullopt;
  found.floats = *floats;
  found.scale = *scale;
  return find_scale(lowering, found) ? std::optional(found) : std::nullopt;
}

}  // namespace sr::replay::lower
