// Convolution with the channels of the result in registers, for a tile of pixels at a time: no part of a
// register is idle where rows are short, and pixels may lie anywhere in the image.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/convolution.hpp>
#include <sr/kernels/gemm.hpp>
#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/transpose.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Some taps of a panel: their weights are two registers wide, or one.
struct TapBlock {
  const std::int32_t* offsets;
  std::size_t count;
  const float* weight;
  bool resumes, ends;  // whether sums go on from `partial`, and whether they are complete then
  bool is_followed;    // by weights that are to be fetched
  float* partial;      // a row of a panel for each pixel
};

// kPixels pixels from at[0] on at `channels` channels: kVecs registers, of which `last` reads the bias of the
// last one. Unless out_channel is 1, the pixels are next to each other in the result. Fetches an address for
// each tap, unless its step is 0.
template <std::size_t kPixels, std::size_t kVecs, class Last>
[[gnu::flatten, gnu::noinline]] void pixel_tile(const Convolution& shape, const TapBlock& taps,
                                                const Strip* at, const float* bias, std::size_t channels,
                                                float* out, float* partial, Ahead fetch, Last last) {
  constexpr std::size_t kRow = kVecs * kWidth;
  Vec sums[kPixels][kVecs];
  if (taps.resumes) {
    unrolled<kPixels>([&](auto p) {
      unrolled<kVecs>([&](auto v) { sums[p][v] = Vec::load(partial + p * kRow + v * kWidth); });
    });
  } else {
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
  }
  const float* in[kPixels];
  unrolled<kPixels>([&](auto p) { in[p] = shape.in + at[p].in; });
  const float* weight = taps.weight;
  const auto add = [&](std::size_t tap) __attribute__((always_inline)) {
    Vec columns[kVecs];
    unrolled<kVecs>([&](auto v) { columns[v] = Vec::load(weight + v * kWidth); });
    weight += kRow;
    const std::ptrdiff_t offset = taps.offsets[tap];
    unrolled<kPixels>([&](auto p) {
      const Vec left(in[p][offset]);
      unrolled<kVecs>([&](auto v) { sums[p][v] = fma(left, columns[v], sums[p][v]); });
    });
  };
  if (fetch.step == 0) {
    for (std::size_t tap = 0; tap < taps.count; ++tap) add(tap);
  } else {
    for (std::size_t tap = 0; tap < taps.count; ++tap, fetch.begin += fetch.step) {
      __builtin_prefetch(fetch.begin, 0, 2);
      add(tap);
    }
  }
  alignas(64) float finished[kPixels * kRow];
  if (taps.ends) {
    if (shape.added != nullptr) {
      const float* const added = shape.added + (out - shape.out);
      if (shape.out_channel == 1) {
        unrolled<kPixels>([&](auto p) {
          const float* const pixel = added + at[p].out;
          unrolled<kVecs - 1>([&](auto v) { sums[p][v] = sums[p][v] + Vec::load(pixel + v * kWidth); });
          sums[p][kVecs - 1] = sums[p][kVecs - 1] + last.load(pixel + (kVecs - 1) * kWidth);
        });
      } else {
        for (std::size_t c = 0; c < channels; c += kWidth) {
          const std::size_t count = channels - c < kWidth ? channels - c : kWidth;
          transpose_block<true>(added + static_cast<std::ptrdiff_t>(c) * shape.out_channel + at[0].out,
                                shape.out_channel, count, kPixels, finished + c, kRow);
        }
        unrolled<kPixels>([&](auto p) {
          unrolled<kVecs>(
              [&](auto v) { sums[p][v] = sums[p][v] + Vec::load(finished + p * kRow + v * kWidth); });
        });
      }
    }
    unrolled<kPixels>(
        [&](auto p) { unrolled<kVecs>([&](auto v) { sums[p][v] = clamped(shape, sums[p][v]); }); });
    if (shape.out_channel == 1) {
      unrolled<kPixels>([&](auto p) {
        float* const pixel = out + at[p].out;
        unrolled<kVecs - 1>([&](auto v) { sums[p][v].store(pixel + v * kWidth); });
        last.store(sums[p][kVecs - 1], pixel + (kVecs - 1) * kWidth);
      });
      return;
    }
  }
  float* const block = taps.ends ? finished : partial;
  unrolled<kPixels>(
      [&](auto p) { unrolled<kVecs>([&](auto v) { sums[p][v].store(block + p * kRow + v * kWidth); }); });
  for (std::size_t c = 0; c < channels && taps.ends; c += kWidth) {
    const std::size_t count = channels - c < kWidth ? channels - c : kWidth;
    transpose_block<false>(block + c, kRow, kPixels, count,
                           out + static_cast<std::ptrdiff_t>(c) * shape.out_channel + at[0].out,
                           shape.out_channel);
  }
}

// Calls body(first, Index<count>) for tiles of about equal size. A small last tile would have too few sums to
// hide the latency of a multiply-add.
template <class Body>
SR_KERNEL_INLINE void by_even_tiles(std::size_t pixels, Body body) {
  const std::size_t tiles = (pixels + kTileRows - 1) / kTileRows, missing = tiles * kTileRows - pixels;
  if (missing > tiles) return by_row_tiles(pixels, body);
  const std::size_t smaller = missing * (kTileRows - 1);
  for (std::size_t first = 0; first < smaller; first += kTileRows - 1) body(first, Index<kTileRows - 1>{});
  for (std::size_t first = smaller; first < pixels; first += kTileRows) body(first, Index<kTileRows>{});
}

template <std::size_t kVecs, class Last>
SR_KERNEL_INLINE void convolve_taps(const Convolution& shape, const TapBlock& taps, const float* bias,
                                    std::size_t channels, float* out, Last last) {
  constexpr std::size_t kRow = kVecs * kWidth;
  // Prefetches the next block, spread over the tiles of this one.
  const std::size_t tiles = (shape.strips + kTileRows - 1) / kTileRows;
  const std::size_t step = taps.is_followed ? kRow * sizeof(float) / tiles : 0;
  Ahead fetch{reinterpret_cast<const char*>(taps.weight + taps.count * kRow),
              static_cast<std::ptrdiff_t>(step)};
  const bool waits = taps.resumes || !taps.ends;  // only then there is room for every pixel
  by_even_tiles(
      shape.strips, [&](std::size_t first, auto count) __attribute__((always_inline)) {
        pixel_tile<count, kVecs>(shape, taps, shape.at + first, bias, channels, out,
                                 waits ? taps.partial + first * kRow : taps.partial, fetch, last);
        fetch.begin += taps.count * step;
      });
}

// For few pixels most of the memory that is read are weights. They are processed in blocks of taps; the next
// block is prefetched while this one is multiplied, and `partial` holds the sums between blocks.
template <std::size_t kVecs, class Last>
SR_KERNEL_INLINE void convolve_panel(const Convolution& shape, std::size_t column, std::size_t channels,
                                     Last last) {
  constexpr std::size_t kFewPixels = 64, kBlock = 1024;
  alignas(64) float partial[kFewPixels * kPanel];
  const float* const bias = shape.bias == nullptr ? nullptr : shape.bias + column;
  float* const out = shape.out + static_cast<std::ptrdiff_t>(column) * shape.out_channel;
  const std::size_t most = shape.strips <= kFewPixels ? kBlock : shape.taps;
  const bool is_last = column + kPanel >= shape.channels;
  std::size_t first = 0;
  do {
    const std::size_t count = shape.taps - first < most ? shape.taps - first : most;
    const bool ends = first + count == shape.taps;
    const TapBlock taps{.offsets = shape.offsets + first,
                        .count = count,
                        .weight = shape.weight + column * shape.taps + first * kVecs * kWidth,
                        .resumes = first != 0,
                        .ends = ends,
                        .is_followed = most < shape.taps && !(is_last && ends),
                        .partial = partial};
    convolve_taps<kVecs>(shape, taps, bias, channels, out, last);
    first += count;
  } while (first < shape.taps);
}

inline void convolve_block_of_pixels(const Convolution& shape) {
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

inline void convolve_pixels(const Convolution& shape) {
  by_blocks(shape, [](const Convolution& part) { convolve_block_of_pixels(part); });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
