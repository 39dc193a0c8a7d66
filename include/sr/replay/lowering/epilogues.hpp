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

inline bool relu(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || !always_equal(in->sizes, out.sizes) || !always_equal(in->strides, out.strides) ||
      in->dtype != out.dtype)
    return plain<vector_ops::Relu>(lowering, node);
  if (out.dtype == c10::kBFloat16) {
    auto* product = take_over<Bfloat16GemmStep>(lowering, *in, out);
    if (product == nullptr) return plain<vector_ops::Relu>(lowering, node);
    product->shape.clamp_min = 0;
    return true;
  }
  if (!out.is_float()) return plain<vector_ops::Relu>(lowering, node);
  if (auto* product = take_over<GemmStep>(lowering, *in, out)) {
    product->shape.clamp_min = 0;
  } else if (auto* convolution = take_over<ConvolutionStep>(lowering, *in, out)) {
    convolution->shape.clamp_min = 0;
  } else if (auto* grouped = take_over<GroupedGemmStep>(lowering, *in, out)) {
    grouped->shape.clamp_min = 0;
  } else {
    return plain<vector_ops::Relu>(lowering, node);
  }
  return true;
}

}  // namespace sr::replay::lower
