// Tensors filled with a number, which operations of the same fused step read as they read any operand.
#pragma once

#include <cmath>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

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

}  // namespace sr::replay::lower
