// A linear layer with an int8 weight, whose input is quantized when it runs.
#pragma once

#include <memory>
#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

namespace sr::quantization {

// Dtypes have the numbers of c10::ScalarType: int8 is 1, float32 6. The steps of replay take over what
// follows
// `_int_mm` in this order (replay/lowering/int8_gemm.hpp). A row with a NaN or an infinity has a scale that
// is one, too, and so have its results.
inline constexpr const char* kInt8Linear = R"(
def int8_linear(input: Tensor, weight: Tensor, scale: Tensor, bias: Optional[Tensor]) -> Tensor:
    rows = input.reshape([-1, weight.size(0)])
    largest = torch.maximum(torch.amax(rows, [-1], True), -torch.amin(rows, [-1], True))
    row_scale = torch.clamp(largest / 127., min=1e-12)
    steps = torch.clamp(torch.round(rows * (1.0 / row_scale)), -127, 127).to(1)
    result = torch._int_mm(steps, weight).to(6) * row_scale * scale
    if bias is not None:
        result = result + bias
    return result.reshape(input.size()[:-1] + [weight.size(1)])
)";

// Compiled once. Lives as long as the process: graphs inline the function and hold none of it.
inline torch::jit::GraphFunction& int8_linear() {
  static const auto unit = [] {
    auto made = std::make_shared<torch::jit::CompilationUnit>();
    made->define(std::nullopt, kInt8Linear, torch::jit::nativeResolver(), nullptr);
    return made;
  }();
  return torch::jit::toGraphFunction(unit->get_function(c10::QualifiedName("int8_linear")));
}

// The weight of a layer in int8, between -127 and 127.
struct Int8Weight {
  at::Tensor values;  // [inputs, outputs], contiguous
  at::Tensor scale;   // float32 [outputs]
};

// Quantizes a float32 weight [outputs, inputs] of finite numbers: the largest of each output becomes 127.
inline Int8Weight quantized(const at::Tensor& weight) {
  const at::NoGradGuard no_gradients;
  const at::Tensor scale = (weight.abs().amax({1}, /*keepdim=*/true) / 127.).clamp_min(1e-12);
  const at::Tensor steps = at::clamp(at::round(weight / scale), -127, 127);
  return {steps.t().to(at::kChar, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous),
          scale.reshape({-1})};
}

// Inserts the layer at the insertion point of the graph.
inline torch::jit::Value* insert_int8_linear(torch::jit::Graph& graph, torch::jit::Value* input,
                                             const Int8Weight& weight, torch::jit::Value* bias) {
  const std::shared_ptr<torch::jit::Graph> body = int8_linear().graph()->copy();
  torch::jit::Inline(*body);
  if (bias == nullptr) bias = graph.insertConstant(c10::IValue());
  torch::jit::Value* const values = graph.insertConstant(weight.values);
  torch::jit::Value* const scale = graph.insertConstant(weight.scale);
  return torch::jit::insertGraph(graph, *body, {input, values, scale, bias}).at(0);
}

}  // namespace sr::quantization
