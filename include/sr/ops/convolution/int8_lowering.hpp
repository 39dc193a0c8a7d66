// Convolutions of floats that were made of 8-bit integers, as PT2E writes them: convolutions of the integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/mul.h>

#include <sr/kernels/int8_forms.hpp>
#include <sr/ops/convolution/convolved.hpp>
#include <sr/ops/convolution/int8_depthwise_step.hpp>
#include <sr/ops/convolution/int8_step.hpp>
#include <sr/ops/convolution/walks.hpp>
#include <sr/ops/convolution/windows.hpp>
#include <sr/ops/matmul/int8_gemm_step.hpp>
#include <sr/ops/quantized/dequantized.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/program_storages.hpp>

namespace sr::replay::lower {

// The scales of the channels, if all weights of a channel have the same one; else undefined.
inline at::Tensor scales_of_channels(const ProgramStorages::DequantizedMatrix& weight) {
  const at::Tensor scales = weight.scales.values.reshape({weight.rows(), -1});
  const at::Tensor first = scales.narrow(1, 0, 1);
  return scales.eq(first).all().item<bool>() ? first.reshape({-1}).contiguous() : at::Tensor();
}

// The zero point, if it is a constant that the dtype of the integers can represent. The padding has its
// value.
inline std::optional<int> padding_of(const Dequantized& image) {
  const double zero = image.zero.number, least = image.integers.dtype == c10::kByte ? 0 : -128;
  if (image.zero.tensor || !is_zero_point(zero) || zero < least || zero > least + 255) return std::nullopt;
  return static_cast<int>(zero);
}

// The number of elements between neighbouring pixels of a channel: 1 if the layout is NCHW, the number of
// channels if it is NHWC. Nothing for other layouts.
inline std::optional<std::int64_t> distance_of_pixels(const Operand& image) {
  if (image.is_contiguous()) return 1;
  const bool is_by_pixels = image.stride(-3) == 1 && image.stride(-1) == image.size(-3) &&
                            image.stride(-2) == image.size(-1) * image.size(-3);
  return is_by_pixels ? std::optional(image.size(-3).pin()) : std::nullopt;
}

// A convolution of floats that are scaled integers.
struct Int8Convolved {
  Dequantized image;
  Operand integers;  // of the image, with as many dimensions as the image
  int padding = 0;   // the zero point
  ProgramStorages::DequantizedMatrix weight;
  at::Tensor scales;  // of the channels
};

inline std::optional<Int8Convolved> read_int8_convolution(const Lowering& lowering, const TracedNode& node,
                                                          const Convolved& all) {
  const auto weight = lowering.dequantized(all.weight);
  if (!weight || weight->zeros.defined() || all.taps() == 0 || all.taps() > kLongestWithZero ||
      weight->integers.count() != all.weight.count() ||
      !Size::always_equal(all.weight.size(0), weight->rows()))
    return std::nullopt;
  const auto image = find_dequantized(lowering, *lowering.input(node, 0));
  if (!image || image->scale.distance != 0) return std::nullopt;
  const auto padding = padding_of(*image);
  const at::Tensor scales = scales_of_channels(*weight);
  if (!padding || !scales.defined() || !Size::always_equal(weight->integers.offset, 0)) return std::nullopt;
  Operand integers = image->integers;
  if (integers.rank() < all.in.rank()) add_row_dimension(integers);
  return Int8Convolved{*image, integers, *padding, *weight, scales};
}

// True if the convolution of integers by products takes less time than that of floats. Estimates both in
// multiply-adds of floats, with what else is done for a result, for a byte of a window and for a pixel. The
// constants were measured on AVX2 (decision 20).
inline bool is_faster_in_integers(const Convolved& all) {
  constexpr double kOfResult = 28, kOfByte = 6, kOfPixel = 900;
  const double speed = kernels::int8_form().is_fast ? 4 : 1.07;
  const auto taps = static_cast<double>(all.taps()), channels = static_cast<double>(all.group_out());
  return taps * channels / speed + channels * kOfResult + taps * kOfByte + kOfPixel < taps * channels;
}

// Sets what the steps have in common, and emits the step.
template <class Step>
void emit_int8_convolution(Lowering& lowering, const Convolved& all, const Int8Convolved& of,
                           const Operand& out, std::vector<StorageId> reads, Step step) {
  const Operand& integers = of.integers;
  const bool is_batch = integers.rank() == 4;
  const auto reach = [&](std::size_t d) { return (integers.size(d) - 1).pin() * integers.stride(d).pin(); };
  step.in_image = is_batch ? integers.stride(0).pin() : 0;
  step.in_extent = reach(integers.rank() - 3) + reach(integers.rank() - 2) + reach(integers.rank() - 1) + 1;
  step.channels = static_cast<std::size_t>(all.weight.size(0).pin());
  step.out_rows = all.y.out;
  step.out_columns = all.x.out;
  step.out_image = is_batch ? out.stride(0).pin() : 0;
  step.out_channel = out.stride(-3).pin();
  step.out_pixel = *distance_of_pixels(out);
  step.images_of = is_batch ? integers.size(0) : Size(1);
  step.images = static_cast<std::size_t>(step.images_of.recorded());
  // A result takes the time of so many multiply-adds besides its own.
  const std::int64_t of_result = all.taps() + (kernels::int8_form().is_fast ? 44 : 16);
  step.work_of_image = step.pixels() * all.weight.size(0).pin() * of_result;
  step.least_shared = least_shared_of_int8();
  note_threads(lowering, all.out.count() * of_result, step.least_shared);
  step.weight.data = static_cast<const std::int8_t*>(lowering.constant_bytes(of.weight.integers));
  step.weight.channels = step.channels;
  step.weight.in_channels = static_cast<std::size_t>(all.group_in());
  step.weight.taps = static_cast<std::size_t>(all.y.kernel * all.x.kernel);
  step.weight.of_module = lowering.of_module(of.weight.integers);
  std::vector<StorageId> writes{out.storage};
  reads.insert(reads.end(), {integers.storage, of.weight.integers.storage});
  step.in = lowering.address(integers);
  step.out = lowering.address(out);
  const bool is_fixed = !of.image.scale.tensor;
  step.factor = lowering.address(lowering.literal(
      {all.weight.size(0)}, is_fixed ? at::mul(of.scales, of.image.scale.number) : of.scales));
  if (all.bias) {
    step.bias = lowering.address(*all.bias);
    step.has_bias = true;
    reads.push_back(all.bias->storage);
  }
  step.prepare();
  const Operand scratch = lowering.temporary({step.scratch_floats()});
  step.scratch = lowering.address(scratch);
  writes.push_back(scratch.storage);
  lowering.emit(std::move(step), std::move(reads), std::move(writes));
}

// Emits nothing and returns false if no kernel can convolve each channel by itself.
inline bool convolve_int8_depthwise(Lowering& lowering, const Convolved& all, const Int8Convolved& of) {
  const kernels::Int8Form& form = kernels::int8_form();
  const auto is_small = [](const Axis& axis) {
    return (axis.kernel == 3 || axis.kernel == 5) && axis.dilation == 1 && (axis.step == 1 || axis.step == 2);
  };
  if (form.depthwise == nullptr || all.group_in() != 1 || all.group_out() != 1 || of.image.scale.tensor ||
      all.y.kernel != all.x.kernel || all.y.step != all.x.step || !is_small(all.y) || !is_small(all.x) ||
      !has_channels_last(of.integers) || !has_channels_last(all.out) || !distance_of_pixels(all.out))
    return false;
  Int8DepthwiseStep step;
  step.convolve = form.depthwise;
  step.finishes = true;
  step.weight.form = Int8Taps::Form::depthwise;
  step.weight.runs = static_cast<std::size_t>(all.y.kernel);
  step.shape.channels = static_cast<std::size_t>(all.groups);
  step.shape.y = all.y;
  step.shape.x = all.x;
  step.shape.in_signed = of.integers.dtype == c10::kChar;
  step.shape.in_row = of.integers.stride(-2).pin();
  step.shape.in_pixel = of.integers.stride(-1).pin();
  step.shape.zero = of.padding + (step.shape.in_signed ? 128 : 0);
  emit_int8_convolution(lowering, all, of, all.out, {}, std::move(step));
  return true;
}

// Emits nothing and returns false if the image or the weights were not made of 8-bit integers, or if floats
// are faster.
inline bool convolve_dequantized(Lowering& lowering, const TracedNode& node, Convolved& all) {
  const auto of = read_int8_convolution(lowering, node, all);
  if (!of) return false;
  if (all.out.count() == 0) return is_faster_in_integers(all);
  if (all.groups != 1) return convolve_int8_depthwise(lowering, all, *of);
  const kernels::Int8Form& form = kernels::int8_form();
  const bool is_signed = of->integers.dtype == c10::kChar, is_fixed = !of->image.scale.tensor;
  const bool by_windows = form.windows != nullptr && is_fixed && distance_of_pixels(all.out) &&
                          all.out.stride(-3) == 1 &&
                          all.in.count() < std::numeric_limits<std::int32_t>::max();
  if (!by_windows && !is_faster_in_integers(all)) return false;
  const Operand out = distance_of_pixels(all.out) ? all.out : lowering.made_contiguous(all.out);

  Int8ConvolutionStep step;
  step.y = all.y;
  step.x = all.x;
  step.in_channels = static_cast<std::size_t>(all.group_in());
  step.in_channel = of->integers.stride(-3).pin();
  step.in_row = of->integers.stride(-2).pin();
  step.in_column = of->integers.stride(-1).pin();
  step.flips = by_windows && is_signed;
  step.padding = static_cast<std::uint8_t>(of->padding + (step.flips ? 128 : 0));
  std::vector<StorageId> reads;
  if (by_windows) {
    step.finishes = true;
    step.convolve = form.windows;
    step.weight.form = Int8Taps::Form::windows;
    step.weight.runs = static_cast<std::size_t>(all.y.kernel * (all.x.dilation == 1 ? 1 : all.x.kernel));
  } else {
    step.multiply = form.multiply;
    if (of->padding != 0) {
      step.zero = address_of(lowering, of->image.zero, reads);
      step.has_zero = true;
    }
    if (!is_fixed) {
      step.image_factor = address_of(lowering, of->image.scale, reads);
      step.has_image_factor = true;
    }
  }
  step.shape.n = step.shape.end_column = static_cast<std::size_t>(all.group_out());
  step.shape.k = static_cast<std::size_t>(all.taps());
  step.shape.a_signed = is_signed;
  step.shape.row_factor_stride = 0;
  emit_int8_convolution(lowering, all, *of, out, std::move(reads), std::move(step));
  return out == all.out || emit_copies(lowering, {{out, all.out}});
}

}  // namespace sr::replay::lower
