// Pointwise ops that models use most, by kernels of LibTorch called without the dispatcher (at::cpu). All
// others with an `.out` overload use the generic out variant.
#pragma once

#include <ATen/CPUFunctions.h>
#include <ATen/Operators.h>

#include <sr/ops/parts.hpp>
#include <sr/ops/pointwise/comparison_lowering.hpp>
#include <sr/ops/pointwise/iterators.hpp>
#include <sr/ops/pointwise/lowering.hpp>
#include <sr/ops/pointwise/wrap_numbers.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>
#include <sr/replay/lowering/hooks.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::ops {

// TensorIterator gives an output the same layout as the functional op, and may write onto an input of the
// same layout.
inline constexpr OutTraits kPointwise{.keeps_strides = true, .writes_in_place = 0};

template <at::Tensor& (*Out)(at::Tensor&, const at::Tensor&)>
struct Unary {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, at::Tensor& out) const { Out(out, self); }
};

template <at::Tensor& (*Out)(at::Tensor&, const at::Tensor&, const at::Tensor&)>
struct Binary {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) const {
    Out(out, self, other);
  }
};

template <at::Tensor& (*Out)(at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Scalar&)>
struct BinaryScaled {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                  at::Tensor& out) const {
    Out(out, self, other, alpha);
  }
};

template <at::Tensor& (*Out)(at::Tensor&, const at::Tensor&, const at::Scalar&)>
struct UnaryWithNumber {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, const at::Scalar& number, at::Tensor& out) const {
    Out(out, self, number);
  }
};

struct Relu {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, at::Tensor& out) const { at::cpu::clamp_min_out(out, self, 0); }
};

struct Clamp {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, const std::optional<at::Scalar>& min,
                  const std::optional<at::Scalar>& max, at::Tensor& out) const {
    at::cpu::clamp_out(out, self, min, max);
  }
};

struct Gelu {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, std::string_view approximate, at::Tensor& out) const {
    at::cpu::gelu_out(out, self, approximate);
  }
};

struct Elu {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, const at::Scalar& alpha, const at::Scalar& scale,
                  const at::Scalar& input_scale, at::Tensor& out) const {
    at::cpu::elu_out(out, self, alpha, scale, input_scale);
  }
};

struct Softplus {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, const at::Scalar& beta, const at::Scalar& threshold,
                  at::Tensor& out) const {
    at::cpu::softplus_out(out, self, beta, threshold);
  }
};

namespace registered {

inline const OutVariant<"aten::sigmoid(Tensor self) -> Tensor", Unary<&at::cpu::sigmoid_out>,
                        Pointwise<vector_ops::Sigmoid>, Iterator<native::structured_sigmoid_out>,
                        InPlace<at::_ops::sigmoid_, Fact::functional_on_floats>>
    sigmoid;
inline const OutVariant<"aten::tanh(Tensor self) -> Tensor", Unary<&at::cpu::tanh_out>,
                        Pointwise<vector_ops::Tanh>, Iterator<native::structured_tanh_out>,
                        InPlace<at::_ops::tanh_, Fact::functional_on_floats>>
    tanh;
inline const OutVariant<"aten::exp(Tensor self) -> Tensor", Unary<&at::cpu::exp_out>,
                        Pointwise<vector_ops::Exp>, Iterator<native::structured_exp_out>,
                        InPlace<at::_ops::exp_, Fact::functional_on_floats>>
    exp;
inline const OutVariant<"aten::expm1(Tensor self) -> Tensor", Unary<&at::cpu::expm1_out>,
                        Pointwise<vector_ops::Expm1>, Iterator<native::structured_expm1_out>>
    expm1;
inline const OutVariant<"aten::log(Tensor self) -> Tensor", Unary<&at::cpu::log_out>,
                        Pointwise<vector_ops::Log>, Iterator<native::structured_log_out>,
                        InPlace<at::_ops::log_>>
    log;
inline const OutVariant<"aten::log1p(Tensor self) -> Tensor", Unary<&at::cpu::log1p_out>,
                        Pointwise<vector_ops::Log1p>, Iterator<native::structured_log1p_out>>
    log1p;
inline const OutVariant<"aten::sqrt(Tensor self) -> Tensor", Unary<&at::cpu::sqrt_out>,
                        Pointwise<vector_ops::Sqrt>, Iterator<native::structured_sqrt_out>,
                        InPlace<at::_ops::sqrt_, Fact::functional_on_floats>>
    sqrt;
inline const OutVariant<"aten::rsqrt(Tensor self) -> Tensor", Unary<&at::cpu::rsqrt_out>,
                        Pointwise<vector_ops::Rsqrt>, Iterator<native::structured_rsqrt_out>,
                        InPlace<at::_ops::rsqrt_, Fact::functional_on_floats>>
    rsqrt;
inline const OutVariant<"aten::reciprocal(Tensor self) -> Tensor", Unary<&at::cpu::reciprocal_out>,
                        Pointwise<vector_ops::Reciprocal>, Iterator<native::structured_reciprocal_out>,
                        InPlace<at::_ops::reciprocal_, Fact::functional_on_floats>>
    reciprocal;
inline const OutVariant<"aten::erf(Tensor self) -> Tensor", Unary<&at::cpu::erf_out>,
                        Pointwise<vector_ops::Erf>, Iterator<native::structured_erf_out>>
    erf;
inline const OutVariant<"aten::neg(Tensor self) -> Tensor", Unary<&at::cpu::neg_out>,
                        Pointwise<vector_ops::Neg>, Iterator<native::structured_neg_out>,
                        InPlace<at::_ops::neg_, Fact::functional_on_floats>>
    neg;
inline const OutVariant<"aten::sin(Tensor self) -> Tensor", Unary<&at::cpu::sin_out>,
                        Iterator<native::structured_sin_out>>
    sin;
inline const OutVariant<"aten::cos(Tensor self) -> Tensor", Unary<&at::cpu::cos_out>,
                        Iterator<native::structured_cos_out>>
    cos;
inline const OutVariant<
    "aten::floor(Tensor self) -> Tensor", Unary<&at::cpu::floor_out>, Pointwise<vector_ops::Floor>,
    LowerToIterator<&lower::rounded<native::structured_floor_out>>, InPlace<at::_ops::floor_>>
    floor;
inline const OutVariant<
    "aten::ceil(Tensor self) -> Tensor", Unary<&at::cpu::ceil_out>, Pointwise<vector_ops::Ceil>,
    LowerToIterator<&lower::rounded<native::structured_ceil_out>>, InPlace<at::_ops::ceil_>>
    ceil;
inline const OutVariant<"aten::sign(Tensor self) -> Tensor", Unary<&at::cpu::sign_out>,
                        Pointwise<vector_ops::Sign>, Iterator<native::structured_sign_out>>
    sign;
inline const OutVariant<"aten::silu(Tensor self) -> Tensor", Unary<&at::cpu::silu_out>,
                        Pointwise<vector_ops::Silu>, Iterator<native::structured_silu_out>,
                        InPlace<at::_ops::silu_, Fact::functional_on_floats, Fact::same_when_functional>>
    silu;
inline const OutVariant<"aten::bitwise_not(Tensor self) -> Tensor", Unary<&at::cpu::bitwise_not_out>,
                        Lower<&lower::bitwise<vector_ops::Not>>, Iterator<native::structured_bitwise_not_out>,
                        InPlace<at::_ops::bitwise_not_>>
    bitwise_not;
inline const OutVariant<"aten::relu(Tensor self) -> Tensor", Relu,
                        Lower<&lower::absorbed_or<Epilogue::relu, &lower::plain<vector_ops::Relu>>>,
                        LowerToIterator<&lower::relu_any>,
                        InPlace<at::_ops::relu_, Fact::functional_on_floats, Fact::same_when_functional>>
    relu;
inline const OutVariant<"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", Clamp,
                        Lower<&lower::absorbed_or<Epilogue::clamp, &lower::clamp>>,
                        Iterator<native::structured_clamp_out>,
                        InPlace<at::_ops::clamp_, Fact::functional_on_floats>>
    clamp;
inline const OutVariant<"aten::clamp_min(Tensor self, Scalar min) -> Tensor",
                        UnaryWithNumber<&at::cpu::clamp_min_out>, Pointwise<vector_ops::ClampMin>,
                        Iterator<native::structured_clamp_min_out>,
                        InPlace<at::_ops::clamp_min_, Fact::functional_on_floats>>
    clamp_min;
inline const OutVariant<"aten::clamp_max(Tensor self, Scalar max) -> Tensor",
                        UnaryWithNumber<&at::cpu::clamp_max_out>, Pointwise<vector_ops::ClampMax>,
                        Iterator<native::structured_clamp_max_out>,
                        InPlace<at::_ops::clamp_max_, Fact::functional_on_floats>>
    clamp_max;
inline const OutVariant<
    "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    UnaryWithNumber<&at::cpu::leaky_relu_out>, Pointwise<vector_ops::LeakyRelu>,
    Iterator<native::structured_leaky_relu_out>,
    InPlace<at::_ops::leaky_relu_, Fact::functional_on_floats, Fact::same_when_functional>>
    leaky_relu;
inline const OutVariant<"aten::gelu(Tensor self, *, str approximate='none') -> Tensor", Gelu,
                        Lower<&lower::gelu>, Iterator<native::structured_gelu_out_cpu>,
                        InPlace<at::_ops::gelu_, Fact::functional_on_floats>>
    gelu;
inline const OutVariant<
    "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", Elu,
    Lower<&lower::elu>, Iterator<native::structured_elu_out>, InPlace<at::_ops::elu_>>
    elu;
inline const OutVariant<"aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", Softplus,
                        Pointwise<vector_ops::Softplus>, Iterator<native::structured_softplus_out>>
    softplus;
inline const OutVariant<
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    BinaryScaled<&at::cpu::add_out>,
    Lower<&lower::absorbed_or<Epilogue::add, &lower::scaled<vector_ops::Add, vector_ops::AddScaled>>>,
    Iterator<native::structured_ufunc_add_CPU>, InPlace<at::_ops::add__Tensor, Fact::functional_on_floats>>
    add_tensor;
inline const OutVariant<
    "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    BinaryScaled<&at::cpu::sub_out>, Lower<&lower::scaled<vector_ops::Sub, vector_ops::SubScaled>>,
    Iterator<native::structured_sub_out>, InPlace<at::_ops::sub__Tensor, Fact::functional_on_floats>>
    sub_tensor;
inline const OutVariant<"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::mul_out>,
                        Lower<&lower::absorbed_or<Epilogue::multiply, &lower::plain<vector_ops::Mul>>>,
                        Iterator<native::structured_mul_out>,
                        InPlace<at::_ops::mul__Tensor, Fact::functional_on_floats>>
    mul_tensor;
inline const OutVariant<"aten::div.Tensor(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::div_out>,
                        Pointwise<vector_ops::Div>, Iterator<native::structured_div_out>,
                        InPlace<at::_ops::div__Tensor, Fact::functional_on_floats>>
    div_tensor;
inline const OutVariant<"aten::maximum(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::maximum_out>,
                        Pointwise<vector_ops::Maximum>, Iterator<native::structured_maximum_out>>
    maximum;
inline const OutVariant<"aten::minimum(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::minimum_out>,
                        Pointwise<vector_ops::Minimum>, Iterator<native::structured_minimum_out>>
    minimum;
inline const OutVariant<"aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                        WrapNumbers<BinaryScaled<&at::cpu::add_out>, 1>,
                        Lower<&lower::scaled<vector_ops::Add, vector_ops::AddScaled>>,
                        Iterator<native::structured_ufunc_add_CPU>,
                        InPlace<at::_ops::add__Scalar, Fact::functional_on_floats>>
    add_scalar;
inline const OutVariant<"aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                        WrapNumbers<BinaryScaled<&at::cpu::sub_out>, 1>,
                        Lower<&lower::scaled<vector_ops::Sub, vector_ops::SubScaled>>,
                        Iterator<native::structured_sub_out>,
                        InPlace<at::_ops::sub__Scalar, Fact::functional_on_floats>>
    sub_scalar;
inline const OutVariant<"aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::mul_out>, 1>, Pointwise<vector_ops::Mul>,
                        Iterator<native::structured_mul_out>,
                        InPlace<at::_ops::mul__Scalar, Fact::functional_on_floats>>
    mul_scalar;
inline const OutVariant<"aten::div.Scalar(Tensor self, Scalar other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::div_out>, 1>, Pointwise<vector_ops::Div>,
                        Iterator<native::structured_div_out>,
                        InPlace<at::_ops::div__Scalar, Fact::functional_on_floats>>
    div_scalar;
inline const OutVariant<"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
                        UnaryWithNumber<&at::cpu::pow_out>, Lower<&lower::power>,
                        Iterator<native::structured_pow_Tensor_Scalar_out>, InPlace<at::_ops::pow__Scalar>>
    pow_tensor_scalar;
inline const OutVariant<"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
                        Binary<&at::cpu::pow_out>, Pointwise<vector_ops::Pow>,
                        Iterator<native::structured_pow_Tensor_Tensor_out>, InPlace<at::_ops::pow__Tensor>>
    pow_tensor_tensor;

}  // namespace registered
}  // namespace sr::ops
