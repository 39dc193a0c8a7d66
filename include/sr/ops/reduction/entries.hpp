// Sums, means, extrema, sorting, softmax.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <ATen/CPUFunctions.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/ReduceOps.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/ops/fill_native.h>
#include <ATen/ops/max_native.h>
#include <ATen/ops/min_native.h>
#include <ATen/ops/std_native.h>
#include <ATen/ops/var_native.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/ops/parts.hpp>
#include <sr/ops/reduction/iterators.hpp>
#include <sr/ops/reduction/layouts.hpp>
#include <sr/ops/reduction/lowering.hpp>
#include <sr/ops/reduction/softmax_lowering.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops {

inline constexpr OutTraits kStructured{.keeps_strides = true};

struct SumAll {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, std::optional<at::ScalarType> dtype, at::Tensor& out) const {
    at::cpu::sum_out(out, self, at::OptionalIntArrayRef(at::IntArrayRef{}), false, dtype);
  }
};

struct SumDims {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                  std::optional<at::ScalarType> dtype, at::Tensor& out) const {
    at::cpu::sum_out(out, self, dim, keepdim, dtype);
  }
};

struct MeanDims {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                  std::optional<at::ScalarType> dtype, at::Tensor& out) const {
    at::cpu::mean_out(out, self, dim, keepdim, dtype);
  }
};

struct Amax {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, at::IntArrayRef dim, bool keepdim, at::Tensor& out) const {
    at::cpu::amax_out(out, self, dim, keepdim);
  }
};

// Throws for a tensor without elements, which the out overload accepts.
template <at::Tensor& (*Out)(const at::Tensor&, at::Tensor&), FixedString Name>
struct Extremum {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, at::Tensor& out) const {
    TORCH_CHECK(
        self.numel() > 0, Name.view(),
        "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
        "with the 'dim' argument.");
    Out(self, out);
  }
};

struct ProductAll {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, std::optional<at::ScalarType> dtype, at::Tensor& out) const {
    at::TensorIterator iterator = at::native::make_reduction("prod", out, self, at::OptionalIntArrayRef{},
                                                             false, dtype.value_or(out.scalar_type()));
    if (iterator.numel() == 0) {
      at::native::fill_(out, 1);
    } else {
      at::native::prod_stub(at::kCPU, iterator);
    }
  }
};

struct NormAll {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, const at::Scalar& p, at::Tensor& out) const {
    at::cpu::norm_out(out, self, p, at::IntArrayRef{}, false);
  }
};
struct NormAllAs {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, const std::optional<at::Scalar>& p, at::ScalarType dtype,
                  at::Tensor& out) const {
    at::cpu::norm_out(out, self, p, at::IntArrayRef{}, false, dtype);
  }
};

using SpreadOut = at::Tensor& (*)(const at::Tensor&, at::OptionalIntArrayRef,
                                  const std::optional<at::Scalar>&, bool, at::Tensor&);
template <SpreadOut Out>
struct Spread {
  void operator()(const at::Tensor& self, bool unbiased, at::Tensor& out) const {
    Out(self, std::nullopt, at::Scalar(unbiased ? 1 : 0), false, out);
  }
};

struct Argmax {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, std::optional<std::int64_t> dim, bool keepdim,
                  at::Tensor& out) const {
    at::cpu::argmax_out(out, self, dim, keepdim);
  }
};

// A dtype argument, which casts the input first, is left to the interpreter.
template <at::Tensor& (*Out)(at::Tensor&, const at::Tensor&, std::int64_t, bool)>
struct SoftmaxLike {
  static constexpr OutTraits traits = kStructured;
  static bool accepts(const torch::jit::Node& node) { return node.input(2)->mustBeNone(); }
  void operator()(const at::Tensor& self, std::int64_t dim, std::optional<at::ScalarType>,
                  at::Tensor& out) const {
    Out(out, self, dim, false);
  }
};

template <at::Tensor& (*Out)(at::Tensor&, const at::Tensor&, std::int64_t, bool)>
struct SoftmaxKernel {
  static constexpr OutTraits traits = kStructured;
  void operator()(const at::Tensor& self, std::int64_t dim, bool half_to_float, at::Tensor& out) const {
    Out(out, self, dim, half_to_float);
  }
};

namespace registered {

inline const OutVariant<"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", SumAll,
                        Lower<&lower::reduce_float_all<kernels::Reduce::sum>>,
                        LowerToIterator<&lower::reduce_all<native::sum_stub, false>>,
                        Layouts<&layouts::reduce_all>>
    sum_all;
inline const OutVariant<
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor",
    SumDims, Lower<&lower::reduce_float_dims<kernels::Reduce::sum>>,
    LowerToIterator<&lower::reduce_dims<native::sum_stub, false>>, Layouts<&layouts::reduce_dims>>
    sum_dims;
inline const OutVariant<
    "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    MeanDims, Lower<&lower::reduce_float_dims<kernels::Reduce::sum, true>>,
    LowerToIterator<&lower::mean_dims_any>, Layouts<&layouts::reduce_dims>,
    Images<&lower::images_of_any_layout>>
    mean_dims;
inline const OutVariant<"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", ProductAll,
                        LowerToIterator<&lower::reduce_all<native::prod_stub>>, Layouts<&layouts::reduce_all>>
    prod_all;
inline const OutVariant<"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", NormAll,
                        Lower<&lower::norm_all>, Layouts<&layouts::reduce_all>>
    norm_all;
inline const OutVariant<"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
                        NormAllAs>
    norm_all_as;
inline const OutVariant<"aten::var(Tensor self, bool unbiased=True) -> Tensor", Spread<&at::native::var_out>,
                        Facts<Fact::makes_new_results>, Layouts<&layouts::reduce_all>>
    var_all;
inline const OutVariant<"aten::std(Tensor self, bool unbiased=True) -> Tensor", Spread<&at::native::std_out>,
                        Facts<Fact::makes_new_results>, Layouts<&layouts::reduce_all>>
    std_all;
inline const OutVariant<"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", Amax,
                        Lower<&lower::reduce_float_dims<kernels::Reduce::max>>,
                        LowerToIterator<&lower::reduce_dims<native::max_values_stub>>,
                        Layouts<&layouts::reduce_dims>>
    amax;
inline const OutVariant<"aten::max(Tensor self) -> Tensor", Extremum<&at::native::max_unary_out, "max">,
                        Lower<&lower::reduce_float_all<kernels::Reduce::max>>, Layouts<&layouts::reduce_all>>
    max;
inline const OutVariant<"aten::min(Tensor self) -> Tensor", Extremum<&at::native::min_unary_out, "min">,
                        Lower<&lower::reduce_float_all<kernels::Reduce::min>>, Layouts<&layouts::reduce_all>>
    min;
inline const OutVariant<"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", Argmax,
                        Lower<&lower::argument_of_extreme<false>>,
                        LowerToIterator<&lower::index_of_extreme<native::argmax_stub>>,
                        Layouts<&layouts::reduce_dims>>
    argmax;
inline const OutVariant<"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                        SoftmaxLike<&at::cpu::_softmax_out>, Lower<lower::kSoftmax>,
                        Layouts<&layouts::like_first>>
    softmax_int;
inline const OutVariant<"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                        SoftmaxLike<&at::cpu::_log_softmax_out>, Lower<lower::kLogSoftmax>,
                        Layouts<&layouts::like_first>>
    log_softmax_int;
inline const OutVariant<"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                        SoftmaxKernel<&at::cpu::_softmax_out>, Lower<lower::kSoftmax>,
                        Layouts<&layouts::like_first>>
    softmax_kernel;
inline const OutVariant<"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                        SoftmaxKernel<&at::cpu::_log_softmax_out>, Lower<lower::kLogSoftmax>,
                        Layouts<&layouts::like_first>>
    log_softmax_kernel;

inline const OperatorOf<at::_ops::std_correction, Layouts<&layouts::reduce_dims_at<1, 3>>> std_correction;
inline const OperatorOf<at::_ops::var_correction, Layouts<&layouts::reduce_dims_at<1, 3>>> var_correction;
inline const OperatorOf<at::_ops::std_dim, Layouts<&layouts::reduce_dims_at<1, 3>>> std_dim;
inline const OperatorOf<at::_ops::var_dim, Layouts<&layouts::reduce_dims_at<1, 3>>> var_dim;
inline const OperatorOf<at::_ops::logsumexp, Layouts<&layouts::reduce_dims>> logsumexp;
inline const OperatorOf<at::_ops::cumsum, Layouts<&layouts::like_first>> cumsum;
inline const OperatorOf<at::_ops::cumprod, Layouts<&layouts::like_first>> cumprod;
inline const OperatorOf<at::_ops::logcumsumexp, Layouts<&layouts::like_first>> logcumsumexp;
inline const OperatorOf<at::_ops::cummax, Layouts<&layouts::like_first_twice>> cummax;
inline const OperatorOf<at::_ops::cummin, Layouts<&layouts::like_first_twice>> cummin;
inline const OperatorOf<at::_ops::kthvalue, Layouts<&layouts::reduce_dims_twice_at<2>>> kthvalue;
inline const OperatorOf<at::_ops::quantile_scalar, Layouts<&layouts::reduce_dims_at<2>>> quantile_scalar;
inline const OperatorOf<at::_ops::nanquantile_scalar, Layouts<&layouts::reduce_dims_at<2>>>
    nanquantile_scalar;
inline const OperatorOf<at::_ops::mode, Layouts<&layouts::reduce_dims_twice_at<1>>> mode;
inline const OperatorOf<at::_ops::median_dim, Layouts<&layouts::reduce_dims_twice_at<1>>> median_dim;
inline const OperatorOf<at::_ops::nanmedian_dim, Layouts<&layouts::reduce_dims_twice_at<1>>> nanmedian_dim;
inline const OperatorOf<at::_ops::count_nonzero, Layouts<&layouts::reduce_dims_away<>>> count_nonzero;
inline const OperatorOf<at::_ops::histc, Layouts<&layouts::histogram>> histc;
inline const OperatorOf<at::_ops::renorm, Layouts<&layouts::like_first>> renorm;
inline const OperatorOf<at::_ops::linalg_cross, Layouts<&layouts::broadcast_to_dense>> linalg_cross;
inline const OperatorOf<at::_ops::count_nonzero_dim_IntList, Layouts<&layouts::reduce_dims_away<>>>
    count_nonzero_dim_IntList;
inline const OperatorOf<at::_ops::topk, Layouts<&layouts::topk>> topk;
inline const OperatorOf<at::_ops::sort_stable, Layouts<&layouts::copied_in_order_twice>> sort_stable;
inline const OperatorOf<at::_ops::all, LowerToIterator<&lower::reduce_all<native::and_stub>>,
                        Layouts<&layouts::reduce_all>>
    all;
inline const OperatorOf<at::_ops::all_dim, LowerToIterator<&lower::reduce_dims<native::and_stub>>,
                        Layouts<&layouts::reduce_dims>>
    all_dim;
inline const OperatorOf<at::_ops::all_dims, LowerToIterator<&lower::reduce_dims<native::and_stub>>,
                        Layouts<&layouts::reduce_dims>>
    all_dims;
inline const OperatorOf<at::_ops::amin, Lower<&lower::reduce_float_dims<kernels::Reduce::min>>,
                        LowerToIterator<&lower::reduce_dims<native::min_values_stub>>,
                        Layouts<&layouts::reduce_dims>>
    amin;
inline const OperatorOf<at::_ops::any, LowerToIterator<&lower::reduce_all<native::or_stub>>,
                        Layouts<&layouts::reduce_all>>
    any;
inline const OperatorOf<at::_ops::any_dim, LowerToIterator<&lower::reduce_dims<native::or_stub>>,
                        Layouts<&layouts::reduce_dims>>
    any_dim;
inline const OperatorOf<at::_ops::any_dims, LowerToIterator<&lower::reduce_dims<native::or_stub>>,
                        Layouts<&layouts::reduce_dims>>
    any_dims;
inline const OperatorOf<at::_ops::argmin, Lower<&lower::argument_of_extreme<true>>,
                        LowerToIterator<&lower::index_of_extreme<native::argmin_stub>>,
                        Layouts<&layouts::reduce_dims>>
    argmin;
inline const OperatorOf<at::_ops::linalg_vector_norm, Lower<&lower::norm_dims>,
                        Layouts<&layouts::reduce_dims_at<2>>>
    linalg_vector_norm;
inline const OperatorOf<at::_ops::max_dim, Lower<&lower::extreme_of_dim<false>>,
                        Layouts<&layouts::reduce_dims_twice_at<>>>
    max_dim;
inline const OperatorOf<at::_ops::mean, Lower<&lower::reduce_float_all<kernels::Reduce::sum, true>>,
                        LowerToIterator<&lower::mean_all_any>, Layouts<&layouts::reduce_all>>
    mean;
inline const OperatorOf<at::_ops::min_dim, Lower<&lower::extreme_of_dim<true>>,
                        Layouts<&layouts::reduce_dims_twice_at<>>>
    min_dim;
inline const OperatorOf<at::_ops::nansum, LowerToIterator<&lower::sum_of_numbers>,
                        Layouts<&layouts::reduce_dims>>
    nansum;
inline const OperatorOf<at::_ops::norm_ScalarOpt_dim, Lower<&lower::norm_dims>,
                        Layouts<&layouts::reduce_dims_at<2>>>
    norm_ScalarOpt_dim;
inline const OperatorOf<at::_ops::prod_dim_int, LowerToIterator<&lower::reduce_dims<native::prod_stub>>,
                        Layouts<&layouts::reduce_dims>>
    prod_dim_int;

}  // namespace registered
}  // namespace sr::ops
