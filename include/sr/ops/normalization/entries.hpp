// Normalisation layers.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <ATen/Functions.h>
#include <ATen/native/Resize.h>
#include <ATen/native/layer_norm.h>

#include <sr/ops/normalization/batch_norm_lowering.hpp>
#include <sr/ops/normalization/layouts.hpp>
#include <sr/ops/normalization/lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

// Calls ATen's kernel, and discards the two statistics that only training needs.
struct LayerNorm {
  void operator()(const at::Tensor& input, at::IntArrayRef shape, const at::Tensor* weight,
                  const at::Tensor* bias, double eps, bool, at::Tensor& out) const {
    static const at::Tensor none;
    const at::Tensor& gamma = weight == nullptr ? none : *weight;
    const at::Tensor& beta = bias == nullptr ? none : *bias;
    const auto [rows, columns] = at::native::_check_layer_norm_inputs(input, shape, gamma, beta);
    at::native::resize_output(out, input.sizes());
    if (rows == 0) return;
    const auto dense = input.expect_contiguous();
    const auto dense_gamma =
        gamma.defined() ? gamma.expect_contiguous() : c10::MaybeOwned<at::Tensor>::borrowed(none);
    const auto dense_beta =
        beta.defined() ? beta.expect_contiguous() : c10::MaybeOwned<at::Tensor>::borrowed(none);
    at::native::LayerNormKernel(at::kCPU, *dense, *dense_gamma, *dense_beta, rows, columns, eps, &out,
                                nullptr, nullptr);
  }
};

// Frozen models are in evaluation mode: the statistics are read and never written.
struct BatchNorm {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                        const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& mean,
                        const std::optional<at::Tensor>& variance, bool training, double momentum, double eps,
                        bool cudnn) const {
    return at::batch_norm(input, weight, bias, mean, variance, training, momentum, eps, cudnn);
  }
};

struct GroupNorm {
  static constexpr OutTraits traits{.makes_new_tensor = true};
  at::Tensor operator()(const at::Tensor& input, std::int64_t groups, const std::optional<at::Tensor>& weight,
                        const std::optional<at::Tensor>& bias, double eps, bool cudnn) const {
    return at::group_norm(input, groups, weight, bias, eps, cudnn);
  }
};

namespace registered {

inline const OutVariant<
    "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
    "eps=1e-05, "
    "bool cudnn_enable=True) -> Tensor",
    LayerNorm, Lower<&lower::layer_norm>, Layouts<&layouts::norm_of_last>>
    layer_norm;
inline const Native<
    "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool "
    "training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    BatchNorm, Lower<&lower::batch_norm>, Facts<Fact::trains_statistics>, Layouts<&layouts::norm_of_channels>,
    Images<&lower::images_of_one_layout>>
    batch_norm;
inline const Native<
    "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool "
    "cudnn_enabled=True) -> Tensor",
    GroupNorm, Lower<&lower::group_norm>, Layouts<&layouts::group_norm>>
    group_norm;

inline const NewTensorsOf<at::_ops::instance_norm, Lower<&lower::instance_norm>,
                          Facts<Fact::trains_statistics>, Layouts<&layouts::instance_norm>>
    instance_norm;
inline const NewTensorsOf<at::_ops::native_layer_norm, Lower<&lower::layer_norm>,
                          Layouts<&layouts::native_layer_norm>>
    native_layer_norm;
inline const NewTensorsOf<at::_ops::native_group_norm, Lower<&lower::native_group_norm>,
                          Layouts<&layouts::native_group_norm>>
    native_group_norm;
inline const NewTensorsOf<
    at::_ops::_native_batch_norm_legit_no_training, Lower<&lower::batch_norm_without_training>,
    Layouts<&layouts::norm_of_channels_with_statistics>, Images<&lower::images_of_one_layout>>
    _native_batch_norm_legit_no_training;
inline const NewTensorsOf<at::_ops::rms_norm, Lower<&lower::rms_norm>, Layouts<&layouts::rms_norm>> rms_norm;
inline const OperatorOf<at::_ops::_fused_rms_norm, Lower<&lower::rms_norm>> _fused_rms_norm;
// The `.out` overload reads uninitialised statistics if input and output have different memory formats.
inline const Operator<"aten::native_batch_norm", Facts<Fact::trains_statistics, Fact::out_differs>>
    facts_of_native_batch_norm;
inline const Operator<"aten::_native_batch_norm_legit", Facts<Fact::out_differs>>
    facts_of_native_batch_norm_legit;
inline const Operator<"aten::_batch_norm_impl_index", Facts<Fact::trains_statistics>>
    facts_of__batch_norm_impl_index;

}  // namespace registered
}  // namespace sr::ops
