// Recognizes pointwise operations that can be applied by the step that computes their operand.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include <c10/util/SmallVector.h>

#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/sizes/arithmetic.hpp>
#include <sr/replay/steps/activations.hpp>
#include <sr/replay/trace/operand.hpp>

namespace sr::replay {

// Returns the operation and its only tensor, which is one of `inputs`. Returns nullopt unless the tensor and
// the result are floats of the same sizes and strides, and all other operands are numbers.
inline std::optional<std::pair<Activation, const Operand*>> activation_of(
    const Compute& compute, const c10::SmallVector<PointwiseInput, 3>& inputs, const Operand& out) {
  if (compute.vector_op == nullptr || !out.is_float()) return std::nullopt;
  const Operand* in = nullptr;
  Activation activation{.operands = inputs.size()};
  std::size_t scalars = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].operand) {
      scalars |= std::size_t{1} << i;
      activation.numbers[i] = static_cast<float>(inputs[i].number);
      continue;
    }
    if (in != nullptr) return std::nullopt;
    in = &*inputs[i].operand;
    activation.of_step = i;
  }
  if (in == nullptr || !in->is_float() || in->storage == out.storage || !always_equal(in->sizes, out.sizes) ||
      !always_equal(in->strides, out.strides))
    return std::nullopt;
  activation.loop = compute.vector_op->by_scalars[scalars];
  return activation.loop == nullptr ? std::nullopt : std::optional(std::pair(activation, in));
}

}  // namespace sr::replay
