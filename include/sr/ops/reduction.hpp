// Sums, means, extrema, softmax, layer_norm.
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

#include <sr/registry/op.hpp>

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

inline const OutVariant<"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", SumAll> sum_all;
inline const OutVariant<
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor",
    SumDims>
    sum_dims;
inline const OutVariant<
    "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    MeanDims>
    mean_dims;
inline const OutVariant<"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", ProductAll> prod_all;
inline const OutVariant<"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", NormAll> norm_all;
inline const OutVariant<"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
                        NormAllAs>
    norm_all_as;
inline const OutVariant<"aten::var(Tensor self, bool unbiased=True) -> Tensor", Spread<&at::native::var_out>>
    var_all;
inline const OutVariant<"aten::std(Tensor self, bool unbiased=True) -> Tensor", Spread<&at::native::std_out>>
    std_all;
inline const OutVariant<"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", Amax> amax;
inline const OutVariant<"aten::max(Tensor self) -> Tensor", Extremum<&at::native::max_unary_out, "max">> max;
inline const OutVariant<"aten::min(Tensor self) -> Tensor", Extremum<&at::native::min_unary_out, "min">> min;
inline const OutVariant<"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", Argmax>
    argmax;
inline const OutVariant<"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                        SoftmaxLike<&at::cpu::_softmax_out>>
    softmax_int;
inline const OutVariant<"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
                        SoftmaxLike<&at::cpu::_log_softmax_out>>
    log_softmax_int;
inline const OutVariant<"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                        SoftmaxKernel<&at::cpu::_softmax_out>>
    softmax_kernel;
inline const OutVariant<"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
                        SoftmaxKernel<&at::cpu::_log_softmax_out>>
    log_softmax_kernel;

}  // namespace sr::ops
