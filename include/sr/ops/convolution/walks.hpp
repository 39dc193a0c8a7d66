// How convolutions with constant weights in fp32 walk over an image: on a padded copy, or on the image itself
// if it needs no padding; by strips of adjacent results or by pixels; with channels first or last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/ops/convolution/convolved.hpp>
#include <sr/ops/convolution/steps.hpp>
#include <sr/ops/convolution/windows.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// True if the channels of each pixel are adjacent, as in NHWC and in slices of its channels; not in images
// that have the layout NCHW as well.
inline bool has_channels_last(const Operand& image) {
  return image.size(-3) != 1 && image.stride(-3) == 1 && !image.is_contiguous();
}
// True if the pixels of such an image are as far apart from row to row as within a row.
inline bool has_even_pixels(const Operand& image) {
  return has_channels_last(image) && (image.size(-1) == 1 || image.size(-2) == 1 ||
                                      image.stride(-2) == image.size(-1) * image.stride(-1));
}
// The distance of neighbouring pixels of such an image.
inline std::int64_t pixel_distance(const Operand& image) {
  return image.stride(image.size(-1) == 1 ? -2 : -1).pin();
}

// True if the image is NHWC, without gaps.
inline bool is_dense_by_pixels(const Operand& image) {
  return image.rank() == 4 && has_even_pixels(image) && pixel_distance(image) == image.size(1) &&
         (image.size(0) == 1 || image.stride(0) == image.size(1) * image.size(2) * image.size(3));
}

// True if a kernel reads or writes images whose channels lie last as they are.
struct Lasts {
  bool in = false, out = false;
  bool is_depthwise = false;  // then both are true

  bool any() const { return in || out; }
};

inline Lasts lasts_of(const Convolved& all) {
  const auto least = static_cast<std::int64_t>(kernels::kernels().table.min_pixel_channels);
  const Lasts last{has_channels_last(all.in), has_even_pixels(all.out)};
  if (!last.any() || all.out.count() == 0 || all.y.out * all.x.out > kMostPixels) return {};
  if (last.in && last.out && all.groups >= least && all.group_in() == 1 && all.group_out() == 1)
    return {true, true, true};
  return all.group_out() >= least ? last : Lasts{};
}

// One group of an image as a kernel reads it: a padded copy, or the image itself.
struct Walk {
  bool copies = false;
  Axis y, x;                                      // of the copy: with steps, it is taken apart by phases
  std::int64_t channel = 0, row = 0, column = 1;  // distances
  std::int64_t rows = 0;                          // of a phase
  bool is_last = false;                           // channels last: each row holds all channels

  std::int64_t elements(std::int64_t channels) const {
    if (is_last) return (copies ? rows : y.in) * row;
    return copies ? channels * y.step * x.step * rows * row : (channels - 1) * channel + y.in * row + x.in;
  }
  kernels::PaddedImage padding(const Convolved& all) const {
    return {.channels = static_cast<std::size_t>(all.group_in()),
            .y = y,
            .x = x,
            .channel_stride = all.in.stride(-3).pin(),
            .row_stride = all.in.stride(-2).pin(),
            .rows = rows,
            .pitch = row,
            .run = is_last ? column : 0,
            .column_stride = all.in.stride(-1).pin()};
  }
};

inline Walk walk_on_image(const Convolved& all) {
  return {false, all.y, all.x, all.in.stride(-3).pin(), all.in.stride(-2).pin(), 1, all.y.in};
}

// Strips are runs of adjacent elements; where the window moves by more than one, of one phase.
inline Walk walk_by_strips(const Convolved& all) {
  const Axis &y = all.y, &x = all.x;
  const Walk on_image = walk_on_image(all);
  const bool moves_by_one = y.step == 1 && x.step == 1 && y.pad == 0 && x.pad == 0;
  const std::int64_t run = on_image.row == x.out ? x.out * y.out : x.out;
  if (moves_by_one && run >= static_cast<std::int64_t>(kernels::kernels().table.width)) return on_image;
  return {true, y, x, y.step * x.step * phase(y) * phase(x), phase(x), 1, phase(y)};
}

inline Walk walk_by_pixels(const Convolved& all, bool in_last, bool by_regions) {
  Walk walk = walk_on_image(all);
  walk.is_last = in_last;
  if (in_last) walk.column = all.in.stride(-1).pin();
  if (by_regions || (all.y.pad == 0 && all.x.pad == 0)) return walk;
  const Axis &y = all.y, &x = all.x;
  walk.copies = true;
  walk.y.step = walk.x.step = 1;
  walk.column = in_last ? all.in.size(-3).pin() : 1;
  walk.rows = (y.out - 1) * y.step + reach(y) + 1;
  walk.row = ((x.out - 1) * x.step + reach(x) + 1) * walk.column;
  walk.channel = in_last ? 1 : walk.rows * walk.row;
  return walk;
}

// The offsets of all taps. In the channels-first layout, taps are ordered by channel, row and column of the
// window. In the channels-last layout they are ordered by row, column and channel, so that adjacent elements
// are read one after the other. Otherwise pixels whose distance is a large power of two would evict each
// other from the cache.
inline std::vector<std::int32_t> offsets_of_taps(const Walk& walk, const Convolved& all) {
  const bool has_phases = walk.copies && walk.y.step * walk.x.step != 1;
  const auto at = [&](std::int64_t c, std::int64_t i, std::int64_t j) {
    if (!has_phases) return c * walk.channel + i * walk.row + j * walk.column;
    const std::int64_t of_phase = (c * walk.y.step + i % walk.y.step) * walk.x.step + j % walk.x.step;
    return (of_phase * walk.rows + i / walk.y.step) * walk.row + j / walk.x.step;
  };
  std::vector<std::int32_t> offsets;
  const auto add_windows = [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = 0; i < all.y.kernel; ++i) {
      for (std::int64_t j = 0; j < all.x.kernel; ++j) {
        for (std::int64_t c = first; c < end; ++c)
          offsets.push_back(static_cast<std::int32_t>(at(c, i * all.y.dilation, j * all.x.dilation)));
      }
    }
  };
  if (walk.is_last) {
    add_windows(0, all.group_in());
  } else {
    for (std::int64_t c = 0; c < all.group_in(); ++c) add_windows(c, c + 1);
  }
  return offsets;
}

// Covers all results of a channel with strips of one register each. The last strip of a row overlaps the one
// before.
inline void cut_strips(ConvolutionStep& step, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  if (pitch == columns) {
    columns *= rows;
    rows = 1;
  }
  const auto width = std::min(columns, static_cast<std::int64_t>(kernels::kernels().table.width));
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; x += width) {
      const std::int64_t first = std::min(x, columns - width);
      step.strips.push_back(
          {static_cast<std::int32_t>(y * pitch + first), static_cast<std::int32_t>(y * columns + first)});
    }
  }
  step.shape.strip_width = static_cast<std::size_t>(width);
  step.shape.strips = step.strips.size();
}

// Covers each result by itself. Pixels of the result are `distance` apart.
inline void list_pixels(ConvolutionStep& step, const Walk& walk, const Convolved& all,
                        std::int64_t distance) {
  for (std::int64_t i = 0; i < all.y.out; ++i) {
    for (std::int64_t j = 0; j < all.x.out; ++j) {
      step.strips.push_back(
          {static_cast<std::int32_t>(i * all.y.step * walk.row + j * all.x.step * walk.column),
           static_cast<std::int32_t>((i * all.x.out + j) * distance)});
    }
  }
  step.shape.strip_width = 1;
  step.shape.strips = step.strips.size();
}

// True if convolve_depthwise_rows computes such windows.
inline bool is_for_rows(const Convolved& all) {
  const Axis &y = all.y, &x = all.x;
  return (y.kernel == 3 || y.kernel == 5) && x.kernel == y.kernel && (y.step == 1 || y.step == 2) &&
         x.step == y.step && y.dilation == 1 && x.dilation == 1;
}

// Covers the rows of the result, on the image itself.
inline void list_rows(ConvolutionStep& step, const Convolved& all) {
  step.shape.y = all.y;
  step.shape.x = all.x;
  step.shape.in_row = all.in.stride(-2).pin();
  step.shape.in_pixel = all.in.stride(-1).pin();
  step.shape.out_pixel = pixel_distance(all.out);
  for (std::int64_t i = 0; i < all.y.out; ++i)
    step.strips.push_back(
        {static_cast<std::int32_t>(i), static_cast<std::int32_t>(i * all.x.out * step.shape.out_pixel)});
  step.shape.strip_width = static_cast<std::size_t>(all.x.out);
  step.shape.strips = step.strips.size();
  step.by_rows = true;
}

// True if the channels of a group leave half of a register idle, and no more than two registers are full.
// More of them make the part that is idle small.
inline bool fits_narrower(const Convolved& all) {
  if (kernels::narrower == nullptr) return false;
  const auto half = static_cast<std::int64_t>(kernels::narrower->table.width);
  const std::int64_t channels = all.group_out(), rest = channels % (2 * half);
  if (channels <= half) return true;
  return kernels::halves_registers && rest != 0 && rest <= half && channels <= 5 * half;
}

// True if convolve_pixels is faster than convolve. Estimates the cost of both: multiply-adds, including those
// on idle parts of registers, and copied elements. The constants were measured on AVX-512 (decision 14):
// writing a pixel costs as much as 16 taps, and copying an element as much as a quarter of a register's
// multiply-add, or as three of them when the image is split into phases.
inline bool is_for_pixels(const Convolved& all) {
  const Walk strips = walk_by_strips(all), pixels = walk_by_pixels(all, false, false);
  const kernels::Table& table = kernels::kernels().table;
  constexpr std::int64_t kWritten = 16;
  const auto width = static_cast<std::int64_t>(table.width);
  const auto whole = [&](std::int64_t count) { return (count + width - 1) / width * width; };
  const std::int64_t channels = all.group_out(), results = all.y.out * all.x.out;
  if (channels < static_cast<std::int64_t>(table.min_pixel_channels) || results > kMostPixels) return false;
  const auto copied = [&](const Walk& walk) {
    const double each = walk.y.step * walk.x.step == 1 ? 0.25 : 3;
    return walk.copies ? each * static_cast<double>(width * walk.elements(all.group_in())) : 0.0;
  };
  const std::int64_t columns = strips.row == all.x.out ? whole(results) : all.y.out * whole(all.x.out);
  const double by_strips = static_cast<double>(columns * channels * all.taps()) + copied(strips);
  const double by_pixels =
      static_cast<double>(results * whole(channels) * (all.taps() + kWritten)) + copied(pixels);
  return by_pixels < by_strips;
}

}  // namespace sr::replay::lower
