// Conversions between dtypes: as vector ops of fused steps, or by LibTorch's copy kernel.
#pragma once

#include <optional>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/hooks.hpp>
#include <sr/replay/lowering/iterator_maker.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// A type through which every value is converted to the same result as directly; nothing if there is none.
inline std::optional<c10::ScalarType> type_between(c10::ScalarType from, c10::ScalarType to) {
  if (!element_of(from) || !element_of(to)) return std::nullopt;
  const bool is_wide = from == c10::kInt || from == c10::kLong || from == c10::kDouble;
  const bool is_small = to == c10::kByte || to == c10::kChar || to == c10::kShort;
  if (is_small) return is_wide ? std::nullopt : std::optional(c10::kFloat);
  if (!is_wide || to == c10::kFloat || is_16_bit_float(to)) return c10::kFloat;
  return from == c10::kDouble || to == c10::kDouble ? c10::kDouble : c10::kLong;
}

// True if a conversion between floats and doubles belongs to a step in doubles: it does if an operation
// before or behind it computes in doubles.
inline bool is_cast_in_doubles(const Lowering& lowering, const Operand& in, const Operand& out) {
  const auto maker = lowering.type_of_maker(in);
  if (in.dtype == c10::kDouble) return out.is_float() && maker == c10::kDouble;
  return out.dtype == c10::kDouble && maker != c10::kFloat && lowering.is_read_by_node(out);
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

// Converts the first argument to another dtype.
inline bool convert(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || in->dtype == out.dtype || in->sizes != out.sizes || node.inputs[0].toTensor().is_neg())
    return false;
  return out.count() == 0 || IteratorMaker::convert(lowering, *in, out);
}

}  // namespace sr::replay::lower
