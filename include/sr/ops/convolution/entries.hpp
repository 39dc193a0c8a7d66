// Convolution and pooling, called without boxing; the kernels allocate their own results.
#pragma once

#include <ATen/Functions.h>

#include <sr/ops/convolution/epilogues.hpp>
#include <sr/ops/convolution/layouts.hpp>
#include <sr/ops/convolution/lowering.hpp>
#include <sr/ops/convolution/pooling_lowering.hpp>
#include <sr/ops/convolution/transposed_lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>
#include <sr/replay/lowering/hooks.hpp>

namespace sr::ops {

inline constexpr OutTraits kMakesNewTensor{.makes_new_tensor = true};

template <at::Tensor (*Convolve)(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                                 at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, std::int64_t)>
struct Convolution {
  static constexpr OutTraits traits = kMakesNewTensor;
  at::Tensor operator()(const at::Tensor& input, const at::Tensor& weight,
                        const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                        at::IntArrayRef padding, at::IntArrayRef dilation, std::int64_t groups) const {
    return Convolve(input, weight, bias, stride, padding, dilation, groups);
  }
};

struct MaxPool2d {
  static constexpr OutTraits traits = kMakesNewTensor;
  at::Tensor operator()(const at::Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride,
                        at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode) const {
    return at::max_pool2d(self, kernel, stride, padding, dilation, ceil_mode);
  }
};

namespace registered {

inline const Native<
    "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, "
    "SymInt[1] "
    "dilation=1, SymInt groups=1) -> Tensor",
    Convolution<&at::conv1d>, Lower<&lower::convolution_forward>, Layouts<&layouts::convolution<1>>>
    conv1d;
inline const Native<
    "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, "
    "SymInt[2] "
    "dilation=1, SymInt groups=1) -> Tensor",
    Convolution<&at::conv2d>, Lower<&lower::convolution_forward>, Layouts<&layouts::convolution<2>>,
    Images<&lower::images_of_convolution>>
    conv2d;
inline const Native<
    "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, "
    "SymInt[3] "
    "dilation=1, SymInt groups=1) -> Tensor",
    Convolution<&at::conv3d>, Layouts<&layouts::convolution<3>>>
    conv3d;
inline const Native<
    "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
    "dilation=1, bool "
    "ceil_mode=False) -> Tensor",
    MaxPool2d, Lower<&lower::max_pool<2>>, Layouts<&layouts::pool<2, 4, 5>>,
    Images<&lower::images_of_one_layout>>
    max_pool2d;

inline const NewTensorsOf<at::_ops::conv1d_padding, Lower<&lower::convolution_by_name>,
                          Layouts<&layouts::convolution<1>>>
    conv1d_padding;
inline const NewTensorsOf<at::_ops::conv2d_padding, Lower<&lower::convolution_by_name>,
                          Layouts<&layouts::convolution<2>>, Images<&lower::images_of_convolution>>
    conv2d_padding;
inline const NewTensorsOf<at::_ops::conv3d_padding, Layouts<&layouts::convolution<3>>> conv3d_padding;
inline const NewTensorsOf<at::_ops::_convolution, Lower<&lower::convolution_of_any_kind>,
                          Layouts<&layouts::convolution_either_way>,
                          Images<&lower::images_of_any_convolution>>
    _convolution;
inline const NewTensorsOf<at::_ops::convolution, Lower<&lower::convolution_of_any_kind>,
                          Layouts<&layouts::convolution_either_way>,
                          Images<&lower::images_of_any_convolution>>
    convolution;
inline const NewTensorsOf<at::_ops::max_pool1d, Lower<&lower::max_pool<1>>, Layouts<&layouts::pool<1, 4, 5>>>
    max_pool1d;
inline const NewTensorsOf<at::_ops::avg_pool1d, Lower<&lower::avg_pool1d>, Layouts<&layouts::pool<1, 0, 4>>>
    avg_pool1d;
// For an output of 1x1 the functional overload calls mean(), which rounds otherwise than the `out` overload.
// The interpreter calls the functional one.
inline const NewTensorsOf<at::_ops::adaptive_avg_pool2d, Lower<&lower::adaptive_avg_pool2d>,
                          Layouts<&layouts::adaptive_pool>, Images<&lower::images_of_adaptive_pool>>
    adaptive_avg_pool2d;
inline const OperatorOf<at::_ops::avg_pool2d, Lower<&lower::avg_pool2d>, Layouts<&layouts::pool<2, 0, 4>>,
                        Images<&lower::images_of_one_layout>>
    avg_pool2d;
inline const OperatorOf<at::_ops::adaptive_max_pool2d, Layouts<&layouts::adaptive_pool_twice>>
    adaptive_max_pool2d;
inline const OperatorOf<at::_ops::avg_pool3d, Layouts<&layouts::pool<3, 0, 4>>> avg_pool3d;
inline const OperatorOf<at::_ops::im2col, Layouts<&layouts::columns_of_image>> im2col;
inline const Operator<"aten::adaptive_avg_pool3d", Facts<Fact::makes_new_results, Fact::out_differs>>
    facts_of_adaptive_avg_pool3d;

inline const Hook<replay::Absorb<Epilogue::relu>> clamp_convolutions{&lower::clamp_convolutions};
inline const Hook<replay::Absorb<Epilogue::clamp>> clamp_convolutions_to_range{
    &lower::clamp_convolution_to_range};
inline const Hook<replay::Absorb<Epilogue::add>> add_to_convolutions{&lower::add_to_convolutions};
inline const Hook<replay::Absorb<Epilogue::convert>> convert_convolution{&lower::convert_convolution};

inline const NewTensorsOf<at::_ops::conv_transpose1d, Lower<&lower::transposed_convolution>,
                          Layouts<&replay::layouts::transposed_convolution<1>>>
    conv_transpose1d;

inline const NewTensorsOf<at::_ops::conv_transpose2d_input, Lower<&lower::transposed_convolution>,
                          Layouts<&replay::layouts::transposed_convolution<2>>>
    conv_transpose2d_input;

inline const NewTensorsOf<at::_ops::conv_transpose3d_input,
                          Layouts<&replay::layouts::transposed_convolution<3>>>
    conv_transpose3d_input;

inline const NewTensorsOf<at::_ops::max_pool3d, Layouts<&replay::layouts::pool<3, 4, 5>>> max_pool3d;

inline const NewTensorsOf<at::_ops::adaptive_avg_pool1d, Layouts<&replay::layouts::adaptive_pool>>
    adaptive_avg_pool1d;

inline const NewTensorsOf<at::_ops::adaptive_max_pool1d, Layouts<&replay::layouts::adaptive_pool_twice>>
    adaptive_max_pool1d;

}  // namespace registered
}  // namespace sr::ops
