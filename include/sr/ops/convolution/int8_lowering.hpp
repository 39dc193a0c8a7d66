// Convolutions of floats that were made of 8-bit integers, as PT2E writes them: convolutions of the integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <sr/kernels/int8_forms.hpp>
#include <sr/ops/convolution/convolved.hpp>
#include <sr/ops/convolution/int8_step.hpp>
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

// True if the convolution of integers takes less time than that of floats. Estimates both in multiply-adds of
// floats, with what else is done for a result, for a byte of a window and for a pixel. The constants were
// measured on AVX2 (decision 20).
inline bool is_faster_in_integers(const Convolved& all) {
  constexpr double kOfResult = 28, kOfByte = 6, kOfPixel = 900;
  const double speed = kernels::int8_form().is_fast ? 4 : 1.07;
  const auto taps = static_cast<double>(all.taps()), channels = static_cast<double>(all.group_out());
  return taps * channels / speed + channels * kOfResult + taps * kOfByte + kOfPixel < taps * channels;
}

// Emits nothing and returns false if the image or the weights were not made of 8-bit integers, or if floats
// are faster.
inline bool convolve_dequantized(Lowering& lowering, const TracedNode& node, Convolved& all) {
  const auto weight = lowering.dequantized(all.weight);
  if (all.groups != 1 || !weight || weight->zeros.defined() || all.taps() == 0 ||
      all.taps() > kLongestWithZero || weight->integers.count() != all.weight.count() ||
      !Size::always_equal(all.weight.size(0), weight->rows()))
    return false;
  const auto image = find_dequantized(lowering, *lowering.input(node, 0));
  if (!image || image->scale.distance != 0) return false;
  const auto padding = padding_of(*image);
  const at::Tensor scales = scales_of_channels(*weight);
  if (!padding || !scales.defined() || !Size::always_equal(weight->integers.offset, 0)) return false;
  if (!is_faster_in_integers(all)) return false;
  if (all.out.count() == 0) return true;
  Operand out = distance_of_pixels(all.out) ? all.out : lowering.made_contiguous(all.out);
  Operand integers = image->integers;
  if (integers.rank() < all.in.rank()) add_row_dimension(integers);

  Int8ConvolutionStep step;
  step.y = all.y;
  step.x = all.x;
  step.in_channels = static_cast<std::size_t>(all.group_in());
  step.padding = static_cast<std::uint8_t>(*padding);
  const bool is_batch = integers.rank() == 4;
  step.in_image = is_batch ? integers.stride(0).pin() : 0;
  step.in_channel = integers.stride(-3).pin();
  step.in_row = integers.stride(-2).pin();
  step.in_column = integers.stride(-1).pin();
  step.out_image = is_batch ? out.stride(0).pin() : 0;
  step.out_channel = out.stride(-3).pin();
  step.out_pixel = *distance_of_pixels(out);
  step.images_of = is_batch ? integers.size(0) : Size(1);
  step.images = static_cast<std::size_t>(step.images_of.recorded());
  step.shape.n = step.shape.end_column = static_cast<std::size_t>(all.group_out());
  step.shape.k = static_cast<std::size_t>(all.taps());
  step.shape.a_signed = integers.dtype == c10::kChar;
  step.shape.row_factor_stride = 0;
  step.multiply = kernels::int8_form().multiply;
  step.weight = {.data = static_cast<const std::int8_t*>(lowering.constant_bytes(weight->integers)),
                 .channels = step.shape.n,
                 .in_channels = step.in_channels,
                 .taps = static_cast<std::size_t>(all.y.kernel * all.x.kernel),
                 .of_module = lowering.of_module(weight->integers)};
  step.work_of_image = all.y.out * all.x.out * all.group_out() * all.taps();
  step.least_shared = least_shared_of_int8();
  note_threads(lowering, all.work(), step.least_shared);
  step.band_rows = step.rows_of_one_thread();
  std::vector<StorageId> reads{integers.storage, weight->integers.storage}, writes{out.storage};
  step.in = lowering.address(integers);
  step.out = lowering.address(out);
  if (*padding != 0) {
    step.zero = address_of(lowering, image->zero, reads);
    step.has_zero = true;
  }
  step.image_factor = address_of(lowering, image->scale, reads);
  step.channel_factor = lowering.address(lowering.literal({all.weight.size(0)}, scales));
  if (all.bias) {
    step.bias = lowering.address(*all.bias);
    step.has_bias = true;
    reads.push_back(all.bias->storage);
  }
  const Operand scratch = lowering.temporary({step.scratch_floats()});
  step.scratch = lowering.address(scratch);
  writes.push_back(scratch.storage);
  lowering.emit(std::move(step), std::move(reads), std::move(writes));
  return out == all.out || emit_copies(lowering, {{out, all.out}});
}

}  // namespace sr::replay::lower
