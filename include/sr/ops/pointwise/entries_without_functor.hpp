// Pointwise operators without a functor of sr: on the general path, LibTorch's `.out` overload computes them.
#pragma once

#include <ATen/Functions.h>

#include <sr/ops/parts.hpp>
#include <sr/ops/pointwise/comparison_lowering.hpp>
#include <sr/ops/pointwise/iterators.hpp>
#include <sr/ops/pointwise/layouts.hpp>
#include <sr/ops/pointwise/lowering.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops::registered {

inline const NewTensorsOf<at::_ops::selu, LowerToIterator<&lower::selu_any>> selu;
inline const NewTensorsOf<at::_ops::prelu, Lower<&lower::prelu>, Layouts<&layouts::copy_in_order>,
                          Images<&lower::images_of_one_layout>>
    prelu;
inline const OperatorOf<at::_ops::abs, Pointwise<vector_ops::Abs>,
                        LowerToIterator<&lower::same_dtype<native::abs_stub>>,
                        InPlace<at::_ops::abs_, Fact::functional_on_floats>>
    abs;
inline const OperatorOf<at::_ops::acos, Iterator<native::structured_acos_out>> acos;
inline const OperatorOf<at::_ops::acosh, Iterator<native::structured_acosh_out>> acosh;
inline const OperatorOf<at::_ops::addcdiv, Lower<&lower::add_scaled_pair<vector_ops::AddQuotient>>,
                        Iterator<native::structured_addcdiv_out>, InPlace<at::_ops::addcdiv_>>
    addcdiv;
inline const OperatorOf<at::_ops::addcmul, Lower<&lower::add_scaled_pair<vector_ops::AddProduct>>,
                        Iterator<native::structured_addcmul_out>, InPlace<at::_ops::addcmul_>>
    addcmul;
inline const OperatorOf<at::_ops::asin, Iterator<native::structured_asin_out>> asin;
inline const OperatorOf<at::_ops::asinh, Iterator<native::structured_asinh_out>> asinh;
inline const OperatorOf<at::_ops::atan, Iterator<native::structured_atan_out>> atan;
inline const OperatorOf<at::_ops::atan2, Iterator<native::structured_atan2_out>> atan2;
inline const OperatorOf<at::_ops::atanh, Iterator<native::structured_atanh_out>> atanh;
inline const OperatorOf<at::_ops::clamp_Tensor, Lower<&lower::clamp>,
                        Iterator<native::structured_clamp_Tensor_out>,
                        InPlace<at::_ops::clamp__Tensor, Fact::functional_on_floats>>
    clamp_Tensor;
inline const OperatorOf<at::_ops::clamp_max_Tensor, Pointwise<vector_ops::Minimum>,
                        Iterator<native::structured_clamp_max_Tensor_out>,
                        InPlace<at::_ops::clamp_max__Tensor, Fact::functional_on_floats>>
    clamp_max_Tensor;
inline const OperatorOf<at::_ops::clamp_min_Tensor, Pointwise<vector_ops::Maximum>,
                        Iterator<native::structured_clamp_min_Tensor_out>,
                        InPlace<at::_ops::clamp_min__Tensor, Fact::functional_on_floats>>
    clamp_min_Tensor;
inline const OperatorOf<at::_ops::copysign_Scalar, Iterator<native::structured_copysign_out>> copysign_Scalar;
inline const OperatorOf<at::_ops::copysign_Tensor, Iterator<native::structured_copysign_out>> copysign_Tensor;
inline const OperatorOf<at::_ops::cosh, Iterator<native::structured_cosh_out>> cosh;
inline const OperatorOf<at::_ops::digamma, Iterator<native::structured_digamma_out>> digamma;
inline const OperatorOf<at::_ops::erfc, Iterator<native::structured_erfc_out>> erfc;
inline const OperatorOf<at::_ops::erfinv, Iterator<native::structured_erfinv_out>> erfinv;
inline const OperatorOf<at::_ops::exp2, Iterator<native::structured_exp2_out>> exp2;
inline const OperatorOf<at::_ops::__and___Scalar, Layouts<&layouts::pointwise>> and_Scalar;
inline const OperatorOf<at::_ops::__or___Scalar, Layouts<&layouts::pointwise>> or_Scalar;
inline const OperatorOf<at::_ops::__xor___Scalar, Layouts<&layouts::pointwise>> xor_Scalar;
inline const OperatorOf<at::_ops::floor_divide, LowerToIterator<&lower::floor_divide>,
                        Layouts<&layouts::pointwise>>
    floor_divide;
inline const OperatorOf<at::_ops::fmax, Iterator<native::structured_fmax_out>> fmax;
inline const OperatorOf<at::_ops::fmin, Iterator<native::structured_fmin_out>> fmin;
inline const OperatorOf<at::_ops::fmod_Scalar, Iterator<native::structured_fmod_out>> fmod_Scalar;
inline const OperatorOf<at::_ops::fmod_Tensor, Iterator<native::structured_fmod_out>> fmod_Tensor;
inline const OperatorOf<at::_ops::frac, Iterator<native::structured_frac_out>> frac;
inline const OperatorOf<at::_ops::hardshrink, Iterator<native::structured_hardshrink_out>> hardshrink;
inline const OperatorOf<at::_ops::hardsigmoid, Pointwise<vector_ops::Hardsigmoid>,
                        Iterator<native::structured_hardsigmoid_out>,
                        InPlace<at::_ops::hardsigmoid_, Fact::functional_on_floats>>
    hardsigmoid;
inline const OperatorOf<at::_ops::hardswish, Pointwise<vector_ops::Hardswish>,
                        LowerToIterator<&lower::same_dtype<native::hardswish_stub>>,
                        Layouts<&layouts::pointwise>,
                        InPlace<at::_ops::hardswish_, Fact::functional_on_floats, Fact::same_when_functional>>
    hardswish;
inline const OperatorOf<
    at::_ops::hardtanh, Lower<&lower::absorbed_or<Epilogue::clamp, &lower::plain<vector_ops::Clamp>>>,
    LowerToIterator<&lower::hardtanh_any>, InPlace<at::_ops::hardtanh_, Fact::same_when_functional>>
    hardtanh;
inline const OperatorOf<at::_ops::heaviside, Iterator<native::structured_heaviside_out>> heaviside;
inline const OperatorOf<at::_ops::hypot, Iterator<native::structured_hypot_out>> hypot;
inline const OperatorOf<at::_ops::i0, Iterator<native::structured_i0_out>> i0;
inline const OperatorOf<at::_ops::isneginf, Iterator<native::structured_isneginf_out>> isneginf;
inline const OperatorOf<at::_ops::isposinf, Iterator<native::structured_isposinf_out>> isposinf;
inline const OperatorOf<at::_ops::lerp_Scalar, Pointwise<vector_ops::Lerp>,
                        Iterator<native::structured_lerp_Scalar>, InPlace<at::_ops::lerp__Scalar>>
    lerp_Scalar;
inline const OperatorOf<at::_ops::lerp_Tensor, Pointwise<vector_ops::Lerp>,
                        Iterator<native::structured_lerp_Tensor>, InPlace<at::_ops::lerp__Tensor>>
    lerp_Tensor;
inline const OperatorOf<at::_ops::lgamma, Iterator<native::structured_lgamma_out>> lgamma;
inline const OperatorOf<at::_ops::log10, Iterator<native::structured_log10_out>> log10;
inline const OperatorOf<at::_ops::log2, Iterator<native::structured_log2_out>> log2;
inline const OperatorOf<at::_ops::logaddexp, Iterator<native::structured_logaddexp_out>> logaddexp;
inline const OperatorOf<at::_ops::logaddexp2, Iterator<native::structured_logaddexp2_out>> logaddexp2;
inline const OperatorOf<at::_ops::logit, LowerToIterator<&lower::logit>> logit;
inline const OperatorOf<at::_ops::max_other, Pointwise<vector_ops::Maximum>,
                        Iterator<native::structured_maximum_out>>
    max_other;
inline const OperatorOf<at::_ops::min_other, Pointwise<vector_ops::Minimum>,
                        Iterator<native::structured_minimum_out>>
    min_other;
inline const OperatorOf<at::_ops::mish, Iterator<native::structured_mish_out>> mish;
inline const OperatorOf<at::_ops::nan_to_num, LowerToIterator<&lower::nan_to_num>> nan_to_num;
inline const OperatorOf<at::_ops::nextafter, Iterator<native::structured_nextafter_out>> nextafter;
inline const OperatorOf<at::_ops::pow_Scalar, Pointwise<vector_ops::Pow>,
                        LowerToIterator<&lower::power_of_number>>
    pow_Scalar;
inline const OperatorOf<at::_ops::remainder_Scalar, Iterator<native::structured_remainder_out>>
    remainder_Scalar;
inline const OperatorOf<at::_ops::remainder_Tensor, Iterator<native::structured_remainder_out>>
    remainder_Tensor;
inline const OperatorOf<at::_ops::round, Pointwise<vector_ops::Round>,
                        LowerToIterator<&lower::rounded<native::structured_round_out>>,
                        InPlace<at::_ops::round_>>
    round;
inline const OperatorOf<at::_ops::sgn, Iterator<native::structured_sgn_out>> sgn;
inline const OperatorOf<at::_ops::signbit, Iterator<native::structured_signbit_out>> signbit;
inline const OperatorOf<at::_ops::sinc, Iterator<native::structured_sinc_out>> sinc;
inline const OperatorOf<at::_ops::sinh, Iterator<native::structured_sinh_out>> sinh;
inline const OperatorOf<at::_ops::softshrink, Iterator<native::structured_softshrink_out>> softshrink;
inline const OperatorOf<at::_ops::square, Pointwise<vector_ops::Square>, LowerToIterator<&lower::square_any>,
                        Facts<Fact::makes_new_results>, InPlace<at::_ops::square_>>
    square;
inline const OperatorOf<at::_ops::tan, Iterator<native::structured_tan_out>> tan;
inline const OperatorOf<at::_ops::threshold, Pointwise<vector_ops::Threshold>,
                        Iterator<native::structured_threshold_out>>
    threshold;
inline const OperatorOf<at::_ops::trunc, Pointwise<vector_ops::Trunc>,
                        LowerToIterator<&lower::rounded<native::structured_trunc_out>>>
    trunc;
inline const OperatorOf<at::_ops::where_self, Lower<&lower::choose>, LowerToIterator<&lower::where>>
    where_self;
inline const OperatorOf<at::_ops::xlogy_Tensor, Iterator<native::structured_xlogy_out>> xlogy_Tensor;
inline const Operator<"aten::clip", Facts<Fact::makes_new_results>> facts_of_clip;

inline const NewTensorsOf<at::_ops::celu> celu;

inline const NewTensorsOf<at::_ops::isinf> isinf;

inline const NewTensorsOf<at::_ops::isfinite> isfinite;

inline const NewTensorsOf<at::_ops::isclose, Layouts<&replay::layouts::pointwise>> isclose;

inline const NativeOf<at::_ops::diff, Layouts<&replay::layouts::difference>> diff;

// The functional overload returns real tensors unchanged.
inline const Operator<"aten::conj_physical", Facts<Fact::out_differs>> facts_of_conj_physical;

inline const OperatorOf<at::_ops::glu, Layouts<&layouts::half_of_dim>> glu;

}  // namespace sr::ops::registered
