// Epilogues: what the step of a product does to its results before it writes them.
#pragma once

#include <sr/replay/lowering/hooks.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// The payload of type P whose step makes `in`, if that is its only result and nothing else reads it. The step
// then writes `out` instead, which has the same layout. Null if there is none.
template <class P>
P* take_over(Lowering& lowering, const Operand& in, const Operand& out) {
  Draft* const draft = lowering.sole_maker<P>(in, 1);
  if (draft == nullptr) return nullptr;
  auto& step = const_cast<P&>(static_cast<const P&>(*draft->step.payload));
  const Address made = lowering.address(in);
  if (step.out.base != made.base || step.out.offset != made.offset || step.results() != in.count())
    return nullptr;
  step.out = lowering.address(out);
  lowering.redirect(*draft, out);
  return &step;
}

// Fuses relu(x) into the step that makes x, if that has one of the types `Steps` and writes floats of type
// `kResult`. The step then writes max(result, 0).
template <c10::ScalarType kResult, class... Steps>
bool clamp_results(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || in->dtype != kResult || out.dtype != kResult || !always_equal(in->sizes, out.sizes) ||
      !always_equal(in->strides, out.strides))
    return false;
  const auto clamp = [&]<class StepType>(const StepType*) {
    StepType* const step = take_over<StepType>(lowering, *in, out);
    if (step != nullptr) step->shape.clamp_min = 0;
    return step != nullptr;
  };
  return (clamp(static_cast<const Steps*>(nullptr)) || ...);
}

}  // namespace sr::replay::lower
