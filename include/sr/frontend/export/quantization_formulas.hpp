// What the quantization operators of PT2E (quantized_decomposed) and torchao compute, which only exist in
// Python: TorchScript whose functions are inlined into the graph. Results are equal to the Python functions'
// bit for bit.
#pragma once

#include <memory>

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>

namespace sr::exported::detail {

// A number that stands in a tensor of one element is converted as `item()` and an operator with a number do:
// to fp32 at last. Dtypes have the numbers of c10::ScalarType: uint8 is 0, int32 3, int64 4, float32 6,
// float64 7.
inline constexpr const char* kQuantizationFormulas = R"(
def one(value: Tensor) -> Tensor:
    return value.reshape([]).to(6)

def inverse(scale: Tensor) -> Tensor:
    return (1.0 / scale.to(7).reshape([])).to(6)

def quantize_per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int,
                        dtype: int) -> Tensor:
    steps = torch.round(input.to(6) * (1.0 / scale))
    return torch.clamp(steps + zero_point, quant_min, quant_max).to(dtype)

def quantize_per_tensor_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int,
                               dtype: int) -> Tensor:
    steps = torch.round(input.to(6) * inverse(scale))
    return torch.clamp(steps + one(zero_point), quant_min, quant_max).to(dtype)

def dequantize_per_tensor(input: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: int,
                          *, out_dtype: Optional[int] = None) -> Tensor:
    wide = input.to(6) if out_dtype is None else input.to(out_dtype)
    return (wide - zero_point) * scale

def dequantize_per_tensor_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int,
                                 dtype: int, *, out_dtype: Optional[int] = None) -> Tensor:
    wide = input.to(6) if out_dtype is None else input.to(out_dtype)
    return (wide - one(zero_point)) * one(scale)

def choose_qparams(lowest: Tensor, highest: Tensor, quant_min: int, quant_max: int, eps: float
                   ) -> Tuple[Tensor, Tensor]:
    below, above = torch.clamp(lowest, max=0), torch.clamp(highest, min=0)
    scale = (above - below) / float(quant_max - quant_min)
    scale = torch.maximum(scale, torch.full([1], eps, dtype=6))
    zero_point = torch.clamp(quant_min - torch.round(below / scale).to(3), quant_min, quant_max)
    return scale.to(7), zero_point.to(4)

def choose_qparams_tensor(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: int
                          ) -> Tuple[Tensor, Tensor]:
    return choose_qparams(torch.amin(input), torch.amax(input), quant_min, quant_max, eps)

def choose_qparams_symmetric_tensor(input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: int
                                    ) -> Tuple[Tensor, Tensor]:
    lowest, highest = torch.amin(input), torch.amax(input)
    above = torch.maximum(-torch.clamp(lowest, max=0), torch.clamp(highest, min=0))
    scale = torch.maximum(above / (float(quant_max - quant_min) / 2), torch.full([1], eps, dtype=6))
    middle = 128 if dtype == 0 else 0
    return scale.to(7), torch.full([1], middle, dtype=4)

def along(values: Tensor, axis: int, rank: int) -> Tensor:
    sizes = [1] * rank
    sizes[axis] = -1
    return values.reshape(sizes)

def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int,
                         dtype: int) -> Tensor:
    steps = torch.round(input.to(6) * (1.0 / scales)) + zero_points
    return torch.clamp(steps, quant_min, quant_max).to(dtype)

def dequantize_per_channel(input: Tensor, scales: Tensor, zero_points: Optional[Tensor], quant_min: int,
                           quant_max: int, dtype: int, *, out_dtype: Optional[int] = None) -> Tensor:
    centred = input if zero_points is None else input - zero_points
    scaled = centred * scales
    return scaled.to(6) if out_dtype is None else scaled.to(out_dtype)

def choose_qparams_per_token(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    scales = torch.clamp(torch.amax(torch.abs(input), [-1], keepdim=True), min=1e-5) / 127
    return scales, torch.zeros_like(scales)

def choose_qparams_per_token_asymmetric(input: Tensor, dtype: int) -> Tuple[Tensor, Tensor]:
    lowest, highest = torch.amin(input, [-1], keepdim=True), torch.amax(input, [-1], keepdim=True)
    below, above = torch.clamp(lowest, max=0), torch.clamp(highest, min=0)
    scale = torch.clamp((above - below) / 255.0, min=1.1920928955078125e-07)
    low, high = below / scale, above / scale
    zero_point = torch.where((-128 + low) + (127 + high) > 0, -128 - low, 127 - high)
    return scale.to(7), torch.round(torch.clamp(zero_point, -128, 127)).to(4)

def quantize_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int,
                       dtype: int) -> Tensor:
    return torch.clamp(torch.round(input * (1.0 / scales) + zero_points), quant_min, quant_max).to(dtype)

def dequantize_per_token(input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int,
                         dtype: int, output_dtype: int) -> Tensor:
    return ((input - zero_points) * scales).to(output_dtype)

def no_fuse(input: Tensor, dtype: int) -> Tensor:
    return input.to(dtype)

def quantize_affine(input: Tensor, scale: Tensor, zero_point: Optional[Tensor], output_dtype: int, quant_min: int,
                    quant_max: int) -> Tensor:
    steps = torch.round(input * (1.0 / scale))
    moved = steps if zero_point is None else steps + zero_point
    return torch.clamp(moved, quant_min, quant_max).to(output_dtype)

def dequantize_affine(input: Tensor, scale: Tensor, zero_point: Optional[Tensor], output_dtype: int) -> Tensor:
    wide = input.to(output_dtype)
    centred = wide if zero_point is None else wide - zero_point.to(output_dtype)
    return (centred * scale).to(output_dtype)

def affine_symmetric(below: Tensor, above: Tensor, quant_min: int, quant_max: int, eps: float) -> Tuple[Tensor, Tensor]:
    scale = torch.clamp(torch.maximum(-below, above) / (float(quant_max - quant_min) / 2), min=eps)
    return scale, torch.full_like(scale, int((quant_max + quant_min + 1) / 2))

def affine_no_clipping(below: Tensor, above: Tensor, quant_min: int, quant_max: int, eps: float
                       ) -> Tuple[Tensor, Tensor]:
    low, high = below / float(quant_min), above / float(quant_max)
    scale = torch.clamp(torch.where(low > high, low, high), min=eps)
    return scale, torch.full_like(scale, int((quant_max + quant_min + 1) / 2))

def affine_asymmetric(below: Tensor, above: Tensor, quant_min: int, quant_max: int, eps: float) -> Tuple[Tensor, Tensor]:
    scale = torch.clamp((above - below) / float(quant_max - quant_min), min=eps)
    return scale, torch.clamp(quant_min - torch.round(below / scale), quant_min, quant_max)

def choose_qparams_affine(input: Tensor, mapping_type: str, dims: List[int], quant_min: int, quant_max: int,
                          eps: float, scale_dtype: int, zero_point_dtype: int, keepdim: bool
                          ) -> Tuple[Tensor, Tensor]:
    lowest, highest = torch.amin(input, dims, keepdim), torch.amax(input, dims, keepdim)
    below, above = torch.clamp(lowest, max=0), torch.clamp(highest, min=0)
    if mapping_type == "SYMMETRIC":
        scale, zero_point = affine_symmetric(below, above, quant_min, quant_max, eps)
    elif mapping_type == "ASYMMETRIC":
        scale, zero_point = affine_asymmetric(below, above, quant_min, quant_max, eps)
    else:
        scale, zero_point = affine_no_clipping(below, above, quant_min, quant_max, eps)
    return scale.to(scale_dtype), zero_point.to(zero_point_dtype)
)";

// Compiled once. Lives as long as the process: graphs inline its functions and hold none of it.
inline torch::jit::CompilationUnit& quantization_formulas() {
  static const auto unit = [] {
    auto made = std::make_shared<torch::jit::CompilationUnit>();
    made->define(std::nullopt, kQuantizationFormulas, torch::jit::nativeResolver(), nullptr);
    return made;
  }();
  return *unit;
}

}  // namespace sr::exported::detail
