// Quantize, dequantize, and fake quantization.
#pragma once

#include <ATen/Functions.h>

#include <sr/registry/dispatched.hpp>
#include <sr/replay/layouts/pointwise.hpp>

namespace sr::ops {

namespace registered {

inline const NewTensorsOf<at::_ops::quantize_per_tensor> quantize_per_tensor;
inline const NewTensorsOf<at::_ops::quantize_per_tensor_tensor_qparams> quantize_per_tensor_tensor_qparams;
inline const NewTensorsOf<at::_ops::quantize_per_channel> quantize_per_channel;
inline const NewTensorsOf<at::_ops::dequantize_self> dequantize_self;
inline const NewTensorsOf<at::_ops::fake_quantize_per_tensor_affine, Layouts<&replay::layouts::copy_in_order>>
    fake_quantize_per_tensor_affine;
inline const NewTensorsOf<at::_ops::fake_quantize_per_tensor_affine_tensor_qparams,
                          Layouts<&replay::layouts::filled>>
    fake_quantize_per_tensor_affine_tensor_qparams;
inline const NewTensorsOf<at::_ops::fake_quantize_per_channel_affine> fake_quantize_per_channel_affine;

}  // namespace registered
}  // namespace sr::ops
