// Convolution with the channels of the result in registers, for a tile of its pixels at a time: no part of a
// register is idle where rows are short, and pixels may lie anywhere in the image.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/product_tiles.hpp>
#include <sr/kernels/products.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/transpose.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// kPixels pixels from at[0] on, which are next to each other in the result, at `channels` channels: kVecs
// registers, of whose bias `last` reads the last one.
template <std::size_t kPixels, std::size_t kVecs, class Last>
[[gnu::flatten, gnu::noinline]] void pixel_tile(const Convolution& shape, const Strip* at,
                                                const float* weight, const float* bias, std::size_t channels,
                                                float* out, Last last) {
  constexpr std::size_t kRow = kVecs * kWidth;
  Vec sums[kPixels][kVecs];
  unrolled<kVecs>([&](auto v) {
    Vec start(0.0f);
    if (bias != nullptr) {
      if constexpr (v == kVecs - 1) {
        start = last.load(bias + v * kWidth);
      } else {
        start = Vec::load(bias + v * kWidth);
      }
    }
    unrolled<kPixels>([&](auto p) { sums[p][v] = start; });
  });
  const float* in[kPixels];
  unrolled<kPixels>([&](auto p) { in[p] = shape.in + at[p].in; });
  for (std::size_t tap = 0; tap < shape.taps; ++tap, weight += kRow) {
    Vec columns[kVecs];
    unrolled<kVecs>([&](auto v) { columns[v] = Vec::load(weight + v * kWidth); });
    const std::ptrdiff_t offset = shape.offsets[tap];
    unrolled<kPixels>([&](auto p) {
      const Vec left(in[p][offset]);
      unrolled<kVecs>([&](auto v) { sums[p][v] = fma(left, columns[v], sums[p][v]); });
    });
  }
  alignas(64) float block[kPixels * kRow];
  unrolled<kPixels>([&](auto p) {
    unrolled<kVecs>([&](auto v) {
      first_max(Vec(shape.low), sums[p][v]).store(block + p * kRow + v * kWidth);  // NaN passes
    });
  });
  for (std::size_t c = 0; c < channels; c += kWidth) {
    const std::size_t count = channels - c < kWidth ? channels - c : kWidth;
    transpose_block<false>(block + c, kRow, kPixels, count,
                           out + static_cast<std::ptrdiff_t>(c) * shape.out_channel + at[0].out,
                           shape.out_channel);
  }
}

template <std::size_t kVecs, class Last>
SR_KERNEL_INLINE void convolve_panel(const Convolution& shape, std::size_t column, std::size_t channels,
                                     Last last) {
  const float* const weight = shape.weight + column * shape.taps;
  const float* const bias = shape.bias == nullptr ? nullptr : shape.bias + column;
  float* const out = shape.out + static_cast<std::ptrdiff_t>(column) * shape.out_channel;
  by_row_tiles(
      shape.strips, [&](std::size_t first, auto count) __attribute__((always_inline)) {
        pixel_tile<count, kVecs>(shape, shape.at + first, weight, bias, channels, out, last);
      });
}

inline void convolve_pixels(const Convolution& shape) {
  for (std::size_t column = 0; column < shape.channels; column += kPanel) {
    const std::size_t left = shape.channels - column, width = panel_width(shape.channels, column);
    const std::size_t channels = left < width ? left : width;
    const auto with = [&](auto last) __attribute__((always_inline)) {
      if (width == kPanel) return convolve_panel<2>(shape, column, channels, last);
      convolve_panel<1>(shape, column, channels, last);
    };
    if (channels == width) {
      with(Full{});
    } else {
      with(Part{channels % kWidth});
    }
  }
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
