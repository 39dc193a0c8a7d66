// A linear layer whose weight has 8 or 4 bits, and whose input is quantized when it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

namespace sr::quantization {

// The weight of a layer in int8.
struct QuantizedWeight {
  at::Tensor values;  // [inputs, outputs]; in groups [outputs, groups, elements]; contiguous
  at::Tensor scale;   // float32 [outputs]; in groups [outputs, groups, 1]
  int bits = 8;       // that the values need

  bool has_groups() const { return values.dim() == 3; }
  std::int64_t bytes() const { return values.numel() * bits / 8 + static_cast<std::int64_t>(scale.nbytes()); }
};

// `group` elements of an output's weight share a scale; 0: all of them.
struct WeightFormat {
  int bits = 8;
  std::int64_t group = 0;
};

inline bool fits_groups(const at::Tensor& weight, const WeightFormat& format) {
  return format.group == 0 || weight.size(1) % format.group == 0;
}

// Quantizes a float32 weight [outputs, inputs] of finite numbers that fits the groups. With 8 bits the
// largest magnitude becomes 127. With 4 bits the element of the largest magnitude becomes -8, so that all 16
// values are used (the format Q4_0 of llama.cpp, ggml-quants.c).
inline QuantizedWeight quantized(const at::Tensor& weight, const WeightFormat& format) {
  const at::NoGradGuard no_gradients;
  if (format.group == 0) {
    const at::Tensor scale = (weight.abs().amax({1}, /*keepdim=*/true) / 127.).clamp_min(1e-12);
    const at::Tensor steps = at::clamp(at::round(weight / scale), -127, 127);
    return {steps.t().to(at::kChar, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous),
            scale.reshape({-1})};
  }
  const at::Tensor groups = weight.reshape({weight.size(0), -1, format.group}), magnitudes = groups.abs();
  at::Tensor scale;
  if (format.bits == 8) {
    scale = (magnitudes.amax({2}, /*keepdim=*/true) / 127.).clamp_min(1e-12);
  } else {
    const at::Tensor largest = groups.gather(2, magnitudes.argmax(2, /*keepdim=*/true));
    scale = at::where(largest.abs() < 1e-12, at::full({}, 1e-12, at::kFloat), largest / -8.);
  }
  const double low = format.bits == 8 ? -127 : -8, high = format.bits == 8 ? 127 : 7;
  return {at::clamp(at::round(groups / scale), low, high).to(at::kChar).contiguous(), scale, format.bits};
}

// Dtypes have the numbers of c10::ScalarType: int8 is 1, float32 6. What follows `_int_mm`, or makes the
// operands of `linear`, is in the order in which the steps of replay take it over (ops/matmul/
// int8_gemm_lowering.hpp, int8_grouped_gemm_lowering.hpp). A row with a NaN or an infinity has a scale that
// is one, too, and so have its results.
inline std::string source_of_linear(bool has_groups) {
  const std::string rows = R"(
    largest = torch.maximum(torch.amax(rows, [-1], True), -torch.amin(rows, [-1], True))
    row_scale = torch.clamp(largest / 127., min=1e-12)
    steps = torch.clamp(torch.round(rows * (1.0 / row_scale)), -127, 127).to(1)
)";
  if (has_groups) {
    return R"(
def linear(input: Tensor, weight: Tensor, scale: Tensor, bias: Optional[Tensor]) -> Tensor:
    outputs = weight.size(0)
    floats = (weight.to(6) * scale).reshape([outputs, -1])
    rows = input.reshape([-1, floats.size(1)]))" +
           rows + R"(
    result = torch.linear(steps.to(6) * row_scale, floats, bias)
    return result.reshape(input.size()[:-1] + [outputs])
)";
  }
  return R"(
def linear(input: Tensor, weight: Tensor, scale: Tensor, bias: Optional[Tensor]) -> Tensor:
    rows = input.reshape([-1, weight.size(0)]))" +
         rows + R"(
    result = torch._int_mm(steps, weight).to(6) * row_scale * scale
    if bias is not None:
        result = result + bias
    return result.reshape(input.size()[:-1] + [weight.size(1)])
)";
}

// Compiled once. Lives as long as the process: graphs inline the function and hold none of it.
inline torch::jit::GraphFunction& quantized_linear(bool has_groups) {
  const auto compiled = [](bool groups) {
    auto unit = std::make_shared<torch::jit::CompilationUnit>();
    unit->define(std::nullopt, source_of_linear(groups), torch::jit::nativeResolver(), nullptr);
    return unit;
  };
  static const auto whole = compiled(false), grouped = compiled(true);
  const auto& unit = has_groups ? grouped : whole;
  return torch::jit::toGraphFunction(unit->get_function(c10::QualifiedName("linear")));
}

// Inserts the layer at the insertion point of the graph.
inline torch::jit::Value* insert_linear(torch::jit::Graph& graph, torch::jit::Value* input,
                                        const QuantizedWeight& weight, torch::jit::Value* bias) {
  const std::shared_ptr<torch::jit::Graph> body = quantized_linear(weight.has_groups()).graph()->copy();
  torch::jit::Inline(*body);
  if (bias == nullptr) bias = graph.insertConstant(c10::IValue());
  torch::jit::Value* const values = graph.insertConstant(weight.values);
  torch::jit::Value* const scale = graph.insertConstant(weight.scale);
  return torch::jit::insertGraph(graph, *body, {input, values, scale, bias}).at(0);
}

}  // namespace sr::quantization
