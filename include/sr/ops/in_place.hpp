// In-place ops, which write and return their first tensor, called through the typed handles of ATen.
#pragma once

#include <ATen/Functions.h>

#include <sr/registry/dispatched.hpp>

namespace sr::ops {

namespace registered {

inline const NativeOf<at::_ops::add__Tensor> add__Tensor;
inline const NativeOf<at::_ops::add__Scalar> add__Scalar;
inline const NativeOf<at::_ops::sub__Tensor> sub__Tensor;
inline const NativeOf<at::_ops::sub__Scalar> sub__Scalar;
inline const NativeOf<at::_ops::mul__Tensor> mul__Tensor;
inline const NativeOf<at::_ops::mul__Scalar> mul__Scalar;
inline const NativeOf<at::_ops::div__Tensor> div__Tensor;
inline const NativeOf<at::_ops::div__Scalar> div__Scalar;
inline const NativeOf<at::_ops::div__Tensor_mode> div__Tensor_mode;
inline const NativeOf<at::_ops::div__Scalar_mode> div__Scalar_mode;
inline const NativeOf<at::_ops::pow__Scalar> pow__Scalar;
inline const NativeOf<at::_ops::pow__Tensor> pow__Tensor;
inline const NativeOf<at::_ops::addcmul_> addcmul_;
inline const NativeOf<at::_ops::addcdiv_> addcdiv_;
inline const NativeOf<at::_ops::lerp__Scalar> lerp__Scalar;
inline const NativeOf<at::_ops::lerp__Tensor> lerp__Tensor;
inline const NativeOf<at::_ops::fill__Scalar> fill__Scalar;
inline const NativeOf<at::_ops::fill__Tensor> fill__Tensor;
inline const NativeOf<at::_ops::zero_> zero_;
inline const NativeOf<at::_ops::copy_> copy_;
inline const NativeOf<at::_ops::masked_fill__Scalar> masked_fill__Scalar;
inline const NativeOf<at::_ops::masked_fill__Tensor> masked_fill__Tensor;
inline const NativeOf<at::_ops::masked_scatter_> masked_scatter_;
inline const NativeOf<at::_ops::index_put_> index_put_;
inline const NativeOf<at::_ops::index_fill__int_Scalar> index_fill__int_Scalar;
inline const NativeOf<at::_ops::index_fill__int_Tensor> index_fill__int_Tensor;
inline const NativeOf<at::_ops::index_add_> index_add_;
inline const NativeOf<at::_ops::index_copy_> index_copy_;
inline const NativeOf<at::_ops::scatter__src> scatter__src;
inline const NativeOf<at::_ops::scatter__value> scatter__value;
inline const NativeOf<at::_ops::scatter__reduce> scatter__reduce;
inline const NativeOf<at::_ops::scatter__value_reduce> scatter__value_reduce;
inline const NativeOf<at::_ops::scatter_add_> scatter_add_;
inline const NativeOf<at::_ops::relu_> relu_;
inline const NativeOf<at::_ops::sigmoid_> sigmoid_;
inline const NativeOf<at::_ops::tanh_> tanh_;
inline const NativeOf<at::_ops::exp_> exp_;
inline const NativeOf<at::_ops::log_> log_;
inline const NativeOf<at::_ops::sqrt_> sqrt_;
inline const NativeOf<at::_ops::rsqrt_> rsqrt_;
inline const NativeOf<at::_ops::neg_> neg_;
inline const NativeOf<at::_ops::abs_> abs_;
inline const NativeOf<at::_ops::square_> square_;
inline const NativeOf<at::_ops::reciprocal_> reciprocal_;
inline const NativeOf<at::_ops::floor_> floor_;
inline const NativeOf<at::_ops::ceil_> ceil_;
inline const NativeOf<at::_ops::round_> round_;
inline const NativeOf<at::_ops::clamp_> clamp_;
inline const NativeOf<at::_ops::clamp__Tensor> clamp__Tensor;
inline const NativeOf<at::_ops::clamp_min_> clamp_min_;
inline const NativeOf<at::_ops::clamp_min__Tensor> clamp_min__Tensor;
inline const NativeOf<at::_ops::clamp_max_> clamp_max_;
inline const NativeOf<at::_ops::clamp_max__Tensor> clamp_max__Tensor;
inline const NativeOf<at::_ops::leaky_relu_> leaky_relu_;
inline const NativeOf<at::_ops::gelu_> gelu_;
inline const NativeOf<at::_ops::silu_> silu_;
inline const NativeOf<at::_ops::elu_> elu_;
inline const NativeOf<at::_ops::hardtanh_> hardtanh_;
inline const NativeOf<at::_ops::hardswish_> hardswish_;
inline const NativeOf<at::_ops::hardsigmoid_> hardsigmoid_;
inline const NativeOf<at::_ops::relu6_> relu6_;
inline const NativeOf<at::_ops::logical_not_> logical_not_;
inline const NativeOf<at::_ops::logical_and_> logical_and_;
inline const NativeOf<at::_ops::logical_or_> logical_or_;
inline const NativeOf<at::_ops::logical_xor_> logical_xor_;
inline const NativeOf<at::_ops::bitwise_not_> bitwise_not_;
inline const NativeOf<at::_ops::bitwise_and__Tensor> bitwise_and__Tensor;
inline const NativeOf<at::_ops::bitwise_or__Tensor> bitwise_or__Tensor;
inline const NativeOf<at::_ops::bitwise_xor__Tensor> bitwise_xor__Tensor;
inline const NativeOf<at::_ops::dropout_> dropout_;

}  // namespace registered
}  // namespace sr::ops
