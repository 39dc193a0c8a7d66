// Sentences for the report about layers of quantized models that are computed in floats.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <sr/ops/quantized/dequantized.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// True if the step that makes the operand multiplies by weights of 8 or 4 bits.
inline bool is_of_small_weights(const Lowering& lowering, const Operand& made) {
  const Payload* const payload = lowering.payload_of_maker(made.storage);
  return payload != nullptr && payload->has_small_weights();
}

// Explains why a node of a quantized model, which was lowered before, multiplies floats. Returns nullopt if
// it does not.
inline std::optional<std::string> quantization_remark(const Lowering& lowering, const TracedNode& node,
                                                      bool runs_kernel) {
  static constexpr std::array<std::string_view, 11> kProducts{
      "aten::linear",      "aten::mm",           "aten::addmm",  "aten::matmul",
      "aten::bmm",         "aten::_int_mm",      "aten::conv1d", "aten::conv2d",
      "aten::convolution", "aten::_convolution", "aten::conv3d"};
  const torch::jit::Node& of = *node.processed->node;
  const std::string_view kind = of.kind().toQualString();
  if (kind.starts_with("quantized::") && !runs_kernel)
    return sr::detail::place_of(of) + " is run by LibTorch's kernel.";
  if (std::ranges::find(kProducts, kind) == kProducts.end() || node.outputs.size() != 1 ||
      !node.outputs[0].isTensor())
    return std::nullopt;
  if (kind == "aten::_int_mm") {
    if (runs_kernel) return std::nullopt;
    return sr::detail::place_of(of) + " is run by LibTorch: its right side is not constant.";
  }
  bool is_quantized = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (const auto operand = lowering.input(node, i))
      is_quantized |=
          find_dequantized(lowering, *operand).has_value() || lowering.dequantized(*operand).has_value();
  }
  if (!is_quantized || is_of_small_weights(lowering, lowering.output(node))) return std::nullopt;
  return sr::detail::place_of(of) +
         (lowering.exact()
              ? " multiplies floats that were made of integers, as the option `numerics` demands."
              : " multiplies floats that were made of integers: sr has no product of integers for it, or "
                "none that is faster.");
}

}  // namespace sr::replay::lower
