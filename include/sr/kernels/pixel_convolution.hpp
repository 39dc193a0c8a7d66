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

// The taps that some pixels add up.
struct TapRuns {
  const TapRun *begin, *end;

  std::size_t count() const {
    std::size_t count = 0;
    for (const TapRun* run = begin; run != end; ++run) count += run->end - run->first;
    return count;
  }
};

// What tiles prefetch into the second-level cache: `step` bytes for each tap that they add.
struct Fetch {
  const char* begin;
  std::size_t step;

  SR_KERNEL_INLINE void lines(std::size_t taps) {
    const char* const end = begin + taps * step;
    for (; begin < end; begin += kLine) __builtin_prefetch(begin, 0, 2);
    begin = end;
  }
};

// kPixels pixels from at[0] on at `channels` channels: kVecs registers, of which `last` reads the bias of the
// last one; four are those of two panels. Unless out_channel is 1, the pixels are next to each other in the
// result.
template <std::size_t kPixels, std::size_t kVecs, class Last>
[[gnu::flatten, gnu::noinline]] void pixel_tile(const Convolution& shape, const TapRuns& taps,
                                                const float* weight, const Strip* at, const float* bias,
                                                std::size_t channels, float* out, Fetch fetch, Last last) {
  constexpr std::size_t kRow = kVecs * kWidth, kPanelRow = kVecs == 4 ? kPanel : kRow;
  const auto second = static_cast<std::ptrdiff_t>(shape.taps * kPanelRow);
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
  for (const TapRun* run = taps.begin; run != taps.end; ++run) {
    for (std::size_t tap = run->first; tap < run->end;) {
      constexpr std::size_t kBetween = 32;  // prefetches
      const std::size_t end = fetch.step == 0 || run->end - tap < kBetween ? run->end : tap + kBetween;
      fetch.lines(end - tap);
      const std::int32_t* const offsets_end = shape.offsets + end;
      const float* row = weight + tap * kPanelRow;
      for (const std::int32_t* offset = shape.offsets + tap; offset != offsets_end;
           ++offset, row += kPanelRow) {
        Vec columns[kVecs];
        load_columns<kVecs>(row, second, Full{}, columns);
        unrolled<kPixels>([&](auto p) {
          const Vec left(in[p][*offset]);
          unrolled<kVecs>([&](auto v) { sums[p][v] = fma(left, columns[v], sums[p][v]); });
        });
      }
      tap = end;
    }
  }
  alignas(64) float block[kPixels * kRow];
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
                              shape.out_channel, count, kPixels, block + c, kRow);
      }
      unrolled<kPixels>([&](auto p) {
        unrolled<kVecs>([&](auto v) { sums[p][v] = sums[p][v] + Vec::load(block + p * kRow + v * kWidth); });
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
  unrolled<kPixels>(
      [&](auto p) { unrolled<kVecs>([&](auto v) { sums[p][v].store(block + p * kRow + v * kWidth); }); });
  for (std::size_t c = 0; c < channels; c += kWidth) {
    const std::size_t count = channels - c < kWidth ? channels - c : kWidth;
    transpose_block<false>(block + c, kRow, kPixels, count,
                           out + static_cast<std::ptrdiff_t>(c) * shape.out_channel + at[0].out,
                           shape.out_channel);
  }
}

// The pixels of a tile. In sums of one register, AVX2 needs eight to hide the latency of its two
// multiply-adds a cycle; addresses of more would not fit into registers.
template <std::size_t kVecs>
inline constexpr std::size_t kTilePixels = kVecs == 1 && kWidth == 8 ? 8 : kTileRowsOf<kVecs>;

// Calls body(first, count, taps) for the strips of each region.
template <class Body>
SR_KERNEL_INLINE void by_regions(const Convolution& shape, Body body) {
  if (shape.regions == nullptr) {
    const TapRun all{0, static_cast<std::uint32_t>(shape.taps)};
    return body(std::size_t{0}, shape.strips, TapRuns{&all, &all + 1});
  }
  const std::size_t end = shape.first_strip + shape.strips;
  const TapRegion* region = shape.regions;
  for (std::size_t first = shape.first_strip; first < end; ++region) {
    const std::size_t next = region->end < end ? region->end : end;
    if (next <= first) continue;
    body(first - shape.first_strip, next - first,
         TapRuns{shape.runs + region->first_run, shape.runs + region->end_run});
    first = next;
  }
}

// For few pixels most of the memory that is read are weights: the next panel, or the next two, are
// prefetched, spread over the tiles of this one. Zen 4 reads panels of AVX-512 faster without; elsewhere two
// panels must leave room for those in use in the second-level cache.
template <std::size_t kVecs>
SR_KERNEL_INLINE Fetch fetch_behind(const Convolution& shape, const float* weight, bool is_last) {
  constexpr std::size_t kFewPixels = 64, kMost = kTilePixels<kVecs>, kMostOfPair = 640 << 10;
  const std::size_t floats = shape.taps * kVecs * kWidth;
  const bool helps = kVecs == 4 ? floats * sizeof(float) <= kMostOfPair : kWidth != 16;
  if (!helps || is_last || shape.strips > kFewPixels) return {nullptr, 0};
  std::size_t added = 0;  // taps of all tiles
  by_regions(
      shape, [&](std::size_t, std::size_t strips, const TapRuns& taps)
                 __attribute__((always_inline)) { added += (strips + kMost - 1) / kMost * taps.count(); });
  return {reinterpret_cast<const char*>(weight + floats), added == 0 ? 0 : floats * sizeof(float) / added};
}

template <std::size_t kVecs, class Last>
SR_KERNEL_INLINE void convolve_panel(const Convolution& shape, std::size_t column, std::size_t channels,
                                     Last last) {
  const float* const bias = shape.bias == nullptr ? nullptr : shape.bias + column;
  const float* const weight = shape.weight + column * shape.taps;
  float* const out = shape.out + static_cast<std::ptrdiff_t>(column) * shape.out_channel;
  Fetch fetch = fetch_behind<kVecs>(shape, weight, column + kVecs * kWidth >= shape.channels);
  by_regions(
      shape, [&](std::size_t begin, std::size_t strips, const TapRuns& taps) __attribute__((always_inline)) {
        const std::size_t fetched = fetch.step == 0 ? 0 : fetch.step * taps.count();
        by_even_tiles<kTilePixels<kVecs>>(
            strips, [&](std::size_t first, auto count) __attribute__((always_inline)) {
              pixel_tile<count, kVecs>(shape, taps, weight, shape.at + begin + first, bias, channels, out,
                                       fetch, last);
              fetch.begin += fetched;
            });
      });
}

// kByPairs: see packed_gemm.
template <bool kByPairs>
void convolve_block_of_pixels(const Convolution& shape) {
  std::size_t column = 0;
  for (; kByPairs && column + 2 * kPanel <= shape.channels; column += 2 * kPanel)
    convolve_panel<4>(shape, column, 2 * kPanel, Full{});
  for (; column < shape.channels; column += kPanel) {
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

template <bool kByPairs>
void convolve_pixels(const Convolution& shape) {
  by_blocks(shape, [](const Convolution& part) { convolve_block_of_pixels<kByPairs>(part); });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
