// Depthwise convolution with small square windows of images whose channels lie last. It works on the image
// itself, row by row of the result: a pixel is loaded once for each row of the window, and adds to all
// results whose windows it lies in.
#pragma once

#include <cstddef>

#include <sr/kernels/convolution.hpp>
#include <sr/kernels/gemm.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Neighbouring results of one row at the channels of one register.
struct DepthwiseTile {
  const float* in;        // the first pixel of the first result's window, which may lie outside of the image
  std::ptrdiff_t column;  // its column in the image
  std::ptrdiff_t first, end;  // rows of the window that lie in the image
  const float* weight;
  std::ptrdiff_t tap;  // floats from tap to tap
  const float *bias, *added;
  float* out;
};

// kChecked: pixels outside of the image are left out, and there may be fewer channels than lanes.
template <std::size_t kWindow, std::size_t kStep, std::size_t kPixels, bool kChecked>
[[gnu::flatten, gnu::noinline]] void depthwise_row_tile(const Convolution& shape, const DepthwiseTile& tile,
                                                        AtMost channels) {
  const auto load = [&](const float* from) __attribute__((always_inline)) {
    return kChecked ? channels.load(from) : Vec::load(from);
  };
  Vec sums[kPixels];
  const Vec start = tile.bias == nullptr ? Vec(0.0f) : load(tile.bias);
  unrolled<kPixels>([&](auto p) { sums[p] = start; });
  for (std::ptrdiff_t i = tile.first; i < tile.end; ++i) {
    const float* const row = tile.in + i * shape.in_row;
    const float* const taps = tile.weight + i * static_cast<std::ptrdiff_t>(kWindow) * tile.tap;
    Vec factors[kWindow];
    unrolled<kWindow>(
        [&](auto j) { factors[j] = Vec::load(taps + static_cast<std::ptrdiff_t>(j) * tile.tap); });
    unrolled<(kPixels - 1) * kStep + kWindow>([&](auto x) {
      constexpr auto at = static_cast<std::ptrdiff_t>(x);
      if constexpr (kChecked) {
        if (tile.column + at < 0 || tile.column + at >= shape.x.in) return;
      }
      const Vec pixel = load(row + at * shape.in_pixel);
      unrolled<kWindow>([&](auto j) {
        if constexpr (x >= j && (x - j) % kStep == 0 && (x - j) / kStep < kPixels) {
          constexpr std::size_t p = (x - j) / kStep;
          sums[p] = fma(factors[j], pixel, sums[p]);
        }
      });
    });
  }
  unrolled<kPixels>([&](auto p) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(p) * shape.out_pixel;
    Vec sum = sums[p];
    if (tile.added != nullptr) sum = sum + load(tile.added + at);
    if constexpr (kChecked) {
      channels.store(clamped(shape, sum), tile.out + at);
    } else {
      clamped(shape, sum).store(tile.out + at);
    }
  });
}

// All channels of neighbouring results of row `y`, from column `x` on.
template <std::size_t kWindow, std::size_t kStep, std::size_t kPixels>
SR_KERNEL_INLINE void depthwise_row_part(const Convolution& shape, const Strip& row, std::ptrdiff_t x) {
  constexpr auto window = static_cast<std::ptrdiff_t>(kWindow), step = static_cast<std::ptrdiff_t>(kStep);
  constexpr auto span = static_cast<std::ptrdiff_t>((kPixels - 1) * kStep + kWindow);
  const std::ptrdiff_t first_row = row.in * step - shape.y.pad, left = shape.y.in - first_row;
  const std::ptrdiff_t column = x * step - shape.x.pad;
  DepthwiseTile tile{.in = shape.in + first_row * shape.in_row + column * shape.in_pixel,
                     .column = column,
                     .first = first_row < 0 ? -first_row : 0,
                     .end = left < window ? left : window,
                     .weight = nullptr,
                     .tap = 0,
                     .bias = shape.bias,
                     .added = shape.added,
                     .out = shape.out + row.out + x * shape.out_pixel};
  if (tile.added != nullptr) tile.added += tile.out - shape.out;
  const bool is_inside = column >= 0 && column + span <= shape.x.in;
  for (std::size_t c = 0; c < shape.channels; c += kWidth) {
    const std::size_t panel = c / kPanel * kPanel, channels = shape.channels - c;
    tile.weight = shape.weight + panel * shape.taps + (c - panel);
    tile.tap = static_cast<std::ptrdiff_t>(panel_width(shape.channels, panel));
    if (is_inside && channels >= kWidth) {
      depthwise_row_tile<kWindow, kStep, kPixels, false>(shape, tile, {kWidth});
    } else {
      depthwise_row_tile<kWindow, kStep, kPixels, true>(shape, tile, {channels < kWidth ? channels : kWidth});
    }
    tile.in += kWidth;
    tile.out += kWidth;
    if (tile.bias != nullptr) tile.bias += kWidth;
    if (tile.added != nullptr) tile.added += kWidth;
  }
}

// Divides a row of results into tiles of about equal size, of 4 to 8 results. A row of fewer than four
// results is computed one result at a time.
template <std::size_t kWindow, std::size_t kStep>
SR_KERNEL_INLINE void depthwise_row(const Convolution& shape, const Strip& row) {
  constexpr std::ptrdiff_t kMost = 8, kLeast = 4;
  const std::ptrdiff_t tiles = shape.x.out < kLeast ? shape.x.out : (shape.x.out + kMost - 1) / kMost;
  std::ptrdiff_t x = 0;
  for (std::ptrdiff_t t = 0; t < tiles; ++t) {
    const std::ptrdiff_t count = shape.x.out / tiles + (t < shape.x.out % tiles ? 1 : 0);
    const auto part = [&](auto pixels) __attribute__((always_inline)) {
      if (count == static_cast<std::ptrdiff_t>(std::size_t{pixels}))
        depthwise_row_part<kWindow, kStep, pixels>(shape, row, x);
    };
    part(Index<1>{});
    unrolled<5>([&](auto more) __attribute__((always_inline)) { part(Index<more + 4>{}); });
    x += count;
  }
}

// Windows of 3x3 or 5x5 that move by 1 or 2.
inline void convolve_depthwise_rows(const Convolution& shape) {
  const auto rows = [&](auto window, auto step) __attribute__((always_inline)) {
    for (std::size_t r = 0; r < shape.strips; ++r) depthwise_row<window, step>(shape, shape.at[r]);
  };
  if (shape.x.kernel == 3)
    return shape.x.step == 1 ? rows(Index<3>{}, Index<1>{}) : rows(Index<3>{}, Index<2>{});
  return shape.x.step == 1 ? rows(Index<5>{}, Index<1>{}) : rows(Index<5>{}, Index<2>{});
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
