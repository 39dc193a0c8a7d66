// Depthwise convolution of images whose channels lie last: registers hold channels, so that all of a window
// is read without moving elements within registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/convolution.hpp>
#include <sr/kernels/gemm.hpp>
#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// kPixels pixels at the channels of a panel: kVecs registers, the last of which `last` loads and stores.
template <std::size_t kPixels, std::size_t kVecs, class Last>
[[gnu::flatten, gnu::noinline]] void depthwise_tile(const Convolution& shape, const float* weight,
                                                    const float* bias, const Strip* at, std::size_t column,
                                                    Last last) {
  constexpr std::size_t kBehind = (kVecs - 1) * kWidth;
  const auto load = [&](const float* from, Vec(&to)[kVecs]) __attribute__((always_inline)) {
    unrolled<kVecs - 1>([&](auto v) { to[v] = Vec::load(from + v * kWidth); });
    to[kVecs - 1] = last.load(from + kBehind);
  };
  Vec sums[kPixels][kVecs];
  unrolled<kPixels>([&](auto p) {
    if (bias != nullptr) {
      load(bias, sums[p]);
    } else {
      unrolled<kVecs>([&](auto v) { sums[p][v] = Vec(0.0f); });
    }
  });
  const float* in[kPixels];
  unrolled<kPixels>([&](auto p) { in[p] = shape.in + at[p].in + column; });
  for (std::size_t tap = 0; tap < shape.taps; ++tap, weight += kVecs * kWidth) {
    const std::ptrdiff_t offset = shape.offsets[tap];
    Vec factors[kVecs];
    unrolled<kVecs>([&](auto v) { factors[v] = Vec::load(weight + v * kWidth); });
    unrolled<kPixels>([&](auto p) {
      Vec pixel[kVecs];
      load(in[p] + offset, pixel);
      unrolled<kVecs>([&](auto v) { sums[p][v] = fma(factors[v], pixel[v], sums[p][v]); });
    });
  }
  unrolled<kPixels>([&](auto p) {
    float* const out = shape.out + at[p].out + column;
    if (shape.added != nullptr) {
      Vec added[kVecs];
      load(shape.added + at[p].out + column, added);
      unrolled<kVecs>([&](auto v) { sums[p][v] = sums[p][v] + added[v]; });
    }
    unrolled<kVecs>([&](auto v) { sums[p][v] = clamped(shape, sums[p][v]); });
    unrolled<kVecs - 1>([&](auto v) { sums[p][v].store(out + v * kWidth); });
    last.store(sums[p][kVecs - 1], out + kBehind);
  });
}

// All pixels at the channels of the panel that begins at `column`.
template <std::size_t kVecs, class Last>
SR_KERNEL_INLINE void depthwise_panel(const Convolution& shape, std::size_t column, Last last) {
  by_row_tiles(
      shape.strips, [&](std::size_t first, auto count) __attribute__((always_inline)) {
        depthwise_tile<count, kVecs>(shape, shape.weight + column * shape.taps,
                                     shape.bias == nullptr ? nullptr : shape.bias + column, shape.at + first,
                                     column, last);
      });
}

inline void convolve_depthwise(const Convolution& shape) {
  by_blocks(shape, [](const Convolution& part) {
    for (std::size_t column = 0; column < part.channels; column += kPanel) {
      const std::size_t left = part.channels - column, width = panel_width(part.channels, column);
      const auto with = [&](auto last) __attribute__((always_inline)) {
        if (width == kPanel) return depthwise_panel<2>(part, column, last);
        depthwise_panel<1>(part, column, last);
      };
      if (left >= width) {
        with(Full{});
      } else {
        with(Part{left % kWidth});
      }
    }
  });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
