// Resampling: upsample_*.vec, to a size or by a scale, which F.interpolate becomes in a graph, and
// grid_sampler.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <optional>

#include <ATen/CPUFunctions.h>
#include <ATen/native/UpSample.h>

#include <sr/ops/convolution/layouts.hpp>
#include <sr/ops/parts.hpp>
#include <sr/registry/argument_of_handle.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

using Scales = std::optional<at::ArrayRef<double>>;
inline constexpr OutTraits kUpsampled{.keeps_strides = true};  // in the format of the input

template <auto Out>
struct UpsampleNearest {
  static constexpr OutTraits traits = kUpsampled;
  void operator()(const at::Tensor& input, at::OptionalIntArrayRef size, Scales scales,
                  at::Tensor& out) const {
    using at::native::upsample::get_scale_value;
    const auto sizes = at::native::upsample::compute_output_size(input.sizes(), size, scales);
    call(Out, out, input, sizes, scales);
  }

 private:
  using Scale = std::optional<double>;
  using Out1d = at::Tensor& (*)(at::Tensor&, const at::Tensor&, at::IntArrayRef, Scale);
  using Out2d = at::Tensor& (*)(at::Tensor&, const at::Tensor&, at::IntArrayRef, Scale, Scale);
  using Out3d = at::Tensor& (*)(at::Tensor&, const at::Tensor&, at::IntArrayRef, Scale, Scale, Scale);

  static Scale scale(Scales scales, int i) { return at::native::upsample::get_scale_value(scales, i); }
  static void call(Out1d one, at::Tensor& out, const at::Tensor& input, at::IntArrayRef sizes,
                   Scales scales) {
    one(out, input, sizes, scale(scales, 0));
  }
  static void call(Out2d two, at::Tensor& out, const at::Tensor& input, at::IntArrayRef sizes,
                   Scales scales) {
    two(out, input, sizes, scale(scales, 0), scale(scales, 1));
  }
  static void call(Out3d three, at::Tensor& out, const at::Tensor& input, at::IntArrayRef sizes,
                   Scales scales) {
    three(out, input, sizes, scale(scales, 0), scale(scales, 1), scale(scales, 2));
  }
};

template <auto Out>
struct UpsampleSmooth {
  static constexpr OutTraits traits = kUpsampled;
  void operator()(const at::Tensor& input, at::OptionalIntArrayRef size, bool align, Scales scales,
                  at::Tensor& out) const {
    const auto sizes = at::native::upsample::compute_output_size(input.sizes(), size, scales);
    call(Out, out, input, sizes, align, scales);
  }

 private:
  using Scale = std::optional<double>;
  using Out1d = at::Tensor& (*)(at::Tensor&, const at::Tensor&, at::IntArrayRef, bool, Scale);
  using Out2d = at::Tensor& (*)(at::Tensor&, const at::Tensor&, at::IntArrayRef, bool, Scale, Scale);
  using Out3d = at::Tensor& (*)(at::Tensor&, const at::Tensor&, at::IntArrayRef, bool, Scale, Scale, Scale);

  static Scale scale(Scales scales, int i) { return at::native::upsample::get_scale_value(scales, i); }
  static void call(Out1d one, at::Tensor& out, const at::Tensor& input, at::IntArrayRef sizes, bool align,
                   Scales scales) {
    one(out, input, sizes, align, scale(scales, 0));
  }
  static void call(Out2d two, at::Tensor& out, const at::Tensor& input, at::IntArrayRef sizes, bool align,
                   Scales scales) {
    two(out, input, sizes, align, scale(scales, 0), scale(scales, 1));
  }
  static void call(Out3d three, at::Tensor& out, const at::Tensor& input, at::IntArrayRef sizes, bool align,
                   Scales scales) {
    three(out, input, sizes, align, scale(scales, 0), scale(scales, 1), scale(scales, 2));
  }
};

namespace registered {

inline const OutVariant<
    "aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
    UpsampleNearest<&at::cpu::upsample_nearest1d_out>, Layouts<&replay::layouts::upsample>>
    upsample_nearest1d_vec;
inline const OutVariant<
    "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
    UpsampleNearest<&at::cpu::upsample_nearest2d_out>, Layouts<&replay::layouts::upsample>>
    upsample_nearest2d_vec;
inline const OutVariant<
    "aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
    UpsampleNearest<&at::cpu::upsample_nearest3d_out>, Layouts<&replay::layouts::upsample>>
    upsample_nearest3d_vec;
inline const OutVariant<
    "aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
    "Tensor",
    UpsampleNearest<&at::cpu::_upsample_nearest_exact2d_out>, Layouts<&replay::layouts::upsample>>
    upsample_nearest_exact2d_vec;
inline const OutVariant<
    "aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
    "scale_factors) -> Tensor",
    UpsampleSmooth<&at::cpu::upsample_linear1d_out>, Layouts<&replay::layouts::upsample>>
    upsample_linear1d_vec;
inline const OutVariant<
    "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
    "scale_factors) -> Tensor",
    UpsampleSmooth<&at::cpu::upsample_bilinear2d_out>, Layouts<&replay::layouts::upsample>>
    upsample_bilinear2d_vec;
inline const OutVariant<
    "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
    "scale_factors) -> Tensor",
    UpsampleSmooth<&at::cpu::upsample_bicubic2d_out>, Layouts<&replay::layouts::upsample>>
    upsample_bicubic2d_vec;
inline const OutVariant<
    "aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
    "scale_factors) -> Tensor",
    UpsampleSmooth<&at::cpu::upsample_trilinear3d_out>, Layouts<&replay::layouts::upsample>>
    upsample_trilinear3d_vec;

inline const NewTensorsOf<at::_ops::grid_sampler, Layouts<&replay::layouts::grid_sampler>> grid_sampler;

inline const NewTensorsOf<at::_ops::grid_sampler_2d, Layouts<&replay::layouts::grid_sampler>> grid_sampler_2d;

inline const NewTensorsOf<at::_ops::affine_grid_generator, Layouts<&replay::layouts::affine_grid>>
    affine_grid_generator;

}  // namespace registered
}  // namespace sr::ops
