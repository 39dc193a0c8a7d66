// The step of a depthwise convolution of 8-bit integers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sr/kernels/kernels.hpp>
#include <sr/ops/convolution/int8_image_step.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct Int8DepthwiseStep final : ClonableStep<Int8DepthwiseStep, Int8ImageStep> {
  void (*convolve)(const kernels::Int8Depthwise& all) = nullptr;
  kernels::Int8Depthwise shape;  // of an image

  // All rows, unless something is done to floats, which then stay in the cache.
  std::ptrdiff_t most_rows() const override {
    constexpr std::ptrdiff_t kResults = 16384;
    if (!needs_block() && behind.activations.empty()) return out_rows;
    const std::ptrdiff_t of_row = out_columns * static_cast<std::ptrdiff_t>(channels);
    return std::clamp<std::ptrdiff_t>(kResults / of_row, 1, out_rows);
  }
  void prepare() {}
  std::int64_t scratch_floats() const override {
    return needs_block() ? most_rows() * out_columns * static_cast<std::int64_t>(channels) : 0;
  }

  void convolve_band(std::byte* const* bases, std::int64_t image, std::ptrdiff_t first, std::ptrdiff_t count,
                     float* memory) const override {
    kernels::Int8Depthwise band = shape;
    band.first_row = first;
    band.end_row = first + count;
    band.in = in.in<const std::uint8_t>(bases) + image * in_image;
    band.weight = packed->data;
    const auto pixels_of_band = static_cast<std::size_t>(count * out_columns);
    write(bases, image, first * out_columns, pixels_of_band, memory, [&](const kernels::Int8Finish& own) {
      band.finish = own;
      convolve(band);
    });
  }
};

}  // namespace sr::replay
