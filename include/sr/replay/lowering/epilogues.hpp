// Epilogues: what the step that makes a tensor does to its results before it writes them.
#pragma once

#include <sr/replay/lowering/convolution.hpp>
#include <sr/replay/lowering/gemm.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

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

// Fuses a relu into the step that makes `in`: the step then writes max(result, 0) to `out`. Returns false if
// the step has none of these types.
template <class... Steps>
bool clamp_results_of(Lowering& lowering, const Operand& in, const Operand& out) {
  const auto clamp = [&]<class StepType>(const StepType*) {
    StepType* const step = take_over<StepType>(lowering, in, out);
    if (step != nullptr) step->shape.clamp_min = 0;
    return step != nullptr;
  };
  return (clamp(static_cast<const Steps*>(nullptr)) || ...);
}

inline bool relu(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || !always_equal(in->sizes, out.sizes) || !always_equal(in->strides, out.strides) ||
      in->dtype != out.dtype)
    return plain<vector_ops::Relu>(lowering, node);
  using kernels::Bfloat16Bits, kernels::Float16Bits;
  const bool is_epilogue =
      out.is_float()
          ? clamp_results_of<GemmStep, ConvolutionStep, Int8ConvolutionStep, GroupedGemmStep,
                             Int8WeightGemmStep, GemmStepOf<Bfloat16Bits>, GemmStepOf<Float16Bits>>(lowering,
                                                                                                    *in, out)
          : clamp_results_of<RoundingGemmStep<Bfloat16Bits>, RoundingGemmStep<Float16Bits>>(lowering, *in,
                                                                                            out);
  return is_epilogue || plain<vector_ops::Relu>(lowering, node);
}

}  // namespace sr::replay::lower
