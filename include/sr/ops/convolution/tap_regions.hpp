// Pixels of a convolution's result by the sides of the image that their windows leave: each region adds up
// only the taps that are inside, so that an image needs no padded copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/ops/convolution/convolved.hpp>
#include <sr/ops/convolution/steps.hpp>
#include <sr/ops/convolution/walks.hpp>

namespace sr::replay::lower {

// Adjacent rows (or columns) of the result of whose windows the same rows are inside the image: from `begin`
// to `end` - 1.
struct Span {
  std::int64_t first = 0, count = 0, begin = 0, end = 0;

  std::int64_t taps() const { return end - begin; }
};

inline std::vector<Span> spans_of(const Axis& axis) {
  std::vector<Span> spans;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const std::int64_t start = i * axis.step - axis.pad;   // in the image
    const auto taps_before = [&](std::int64_t position) {  // so many are before it
      return std::clamp<std::int64_t>((position - start + axis.dilation - 1) / axis.dilation, 0, axis.kernel);
    };
    const std::int64_t begin = start < 0 ? taps_before(0) : 0,
                       end = start < axis.in ? std::max(begin, taps_before(axis.in)) : begin;
    if (spans.empty() || spans.back().begin != begin || spans.back().end != end)
      spans.push_back({i, 0, begin, end});
    ++spans.back().count;
  }
  return spans;
}

// The multiply-adds of registers, for a channel of the image and a panel of the weights. A tile of few pixels
// waits for its sums: it takes as long as one of three.
inline std::int64_t cost_of_pixels(std::int64_t pixels, std::int64_t taps) {
  const auto tile = static_cast<std::int64_t>(kernels::kernels().table.tile);
  const std::int64_t tiles = (pixels + tile - 1) / tile;
  return 2 * taps * std::max(pixels, 3 * tiles);
}

// True if regions take less time than a padded copy, whose zeros are multiplied as well.
inline bool is_for_regions(const Convolved& all) {
  if (all.y.pad == 0 && all.x.pad == 0) return false;
  const std::vector<Span> rows = spans_of(all.y), columns = spans_of(all.x);
  std::int64_t cost = 0;
  for (const Span& row : rows) {
    for (const Span& column : columns)
      cost += cost_of_pixels(row.count * column.count, row.taps() * column.taps());
  }
  const auto panel = 2 * static_cast<std::int64_t>(kernels::kernels().table.width);
  const std::int64_t panels = (all.group_out() + panel - 1) / panel, copied = all.y.in * all.x.in / 4;
  return panels * cost < panels * cost_of_pixels(all.y.out * all.x.out, all.y.kernel * all.x.kernel) + copied;
}

// Covers the pixels of the result region by region, large ones first: what they compute hides how long
// weights take to arrive from memory. The first tap of a window is outside the image where the region does
// not add it up.
inline void list_regions(ConvolutionStep& step, const Walk& walk, const Convolved& all,
                         std::int64_t distance) {
  const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto count = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  std::vector<std::pair<Span, Span>> regions;  // rows and columns
  for (const Span& rows : spans_of(all.y)) {
    for (const Span& columns : spans_of(all.x)) regions.emplace_back(rows, columns);
  }
  std::ranges::stable_sort(regions, std::greater{},
                           [](const auto& region) { return region.first.count * region.second.count; });
  for (const auto& [rows, columns] : regions) {
    const auto first_run = count(std::ssize(step.tap_runs));
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const std::int64_t first = i * all.x.kernel + columns.begin;
      step.tap_runs.push_back(
          {count(first * all.group_in()), count((first + columns.taps()) * all.group_in())});
    }
    for (std::int64_t i = rows.first; i < rows.first + rows.count; ++i) {
      for (std::int64_t j = columns.first; j < columns.first + columns.count; ++j) {
        const std::int64_t y = i * all.y.step - all.y.pad, x = j * all.x.step - all.x.pad;
        step.strips.push_back(
            {narrow(y * walk.row + x * walk.column), narrow((i * all.x.out + j) * distance)});
      }
    }
    step.regions.push_back({count(std::ssize(step.strips)), first_run, count(std::ssize(step.tap_runs))});
  }
  step.shape.strip_width = 1;
  step.shape.strips = step.strips.size();
}

}  // namespace sr::replay::lower
