// Convolution region by region, on an image without padding, with every instruction set of this CPU, against
// plain loops.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/kernel_sets.hpp"
#include "support/kernel_values.hpp"

using namespace sr::kernels;
using sr::test::kernel_sets;
using sr::test::same;
using sr::test::uniform_floats;
using sr::test::unsigned_size;

namespace sr::test::tap_regions_tests {

namespace {

constexpr std::ptrdiff_t kWindow = 3, kTaps = kWindow * kWindow;

// A square image and the windows on it.
struct Windows {
  std::ptrdiff_t in_channels = 1, size = 1, pad = 1;
  std::vector<Strip> pixels = {};
  std::vector<std::int32_t> offsets = {};
  std::vector<TapRegion> regions = {};
  std::vector<TapRun> runs = {};

  bool has(std::ptrdiff_t pixel, std::ptrdiff_t tap) const {
    const std::ptrdiff_t y = pixel / out() + tap / kWindow - pad, x = pixel % out() + tap % kWindow - pad;
    return y >= 0 && y < size && x >= 0 && x < size;
  }
  std::ptrdiff_t out() const { return size + 2 * pad - kWindow + 1; }

  // Adjacent pixels that read the same taps are a region.
  void list(std::ptrdiff_t out_channels) {
    for (std::ptrdiff_t tap = 0; tap < kTaps; ++tap) {
      for (std::ptrdiff_t c = 0; c < in_channels; ++c)
        offsets.push_back(
            static_cast<std::int32_t>((tap / kWindow * size + tap % kWindow) * in_channels + c));
    }
    std::vector<bool> before;
    for (std::ptrdiff_t pixel = 0; pixel < out() * out(); ++pixel) {
      const std::ptrdiff_t from = (pixel / out() - pad) * size + pixel % out() - pad;
      pixels.push_back(
          {static_cast<std::int32_t>(from * in_channels), static_cast<std::int32_t>(pixel * out_channels)});
      std::vector<bool> taps;
      for (std::ptrdiff_t tap = 0; tap < kTaps; ++tap) taps.push_back(has(pixel, tap));
      if (pixel == 0 || taps != before) {
        const auto first = static_cast<std::uint32_t>(runs.size());
        for (std::ptrdiff_t tap = 0; tap < kTaps; ++tap) {
          const auto begin = static_cast<std::uint32_t>(tap * in_channels);
          if (has(pixel, tap)) runs.push_back({begin, begin + static_cast<std::uint32_t>(in_channels)});
        }
        regions.push_back({0, first, static_cast<std::uint32_t>(runs.size())});
      }
      regions.back().end = static_cast<std::uint32_t>(pixel) + 1;
      before = taps;
    }
  }
};

double sum_of(const Windows& windows, const std::vector<float>& in, const float* weight, std::size_t pixel) {
  double sum = 0;
  for (std::ptrdiff_t tap = 0; tap < kTaps; ++tap) {
    if (!windows.has(static_cast<std::ptrdiff_t>(pixel), tap)) continue;
    for (std::ptrdiff_t c = 0; c < windows.in_channels; ++c) {
      const std::ptrdiff_t t = tap * windows.in_channels + c;
      sum +=
          double{weight[t]} * in[unsigned_size(windows.pixels[pixel].in + windows.offsets[unsigned_size(t)])];
    }
  }
  return sum;
}

void check(const Table& table, Windows windows, std::size_t channels) {
  windows.list(static_cast<std::ptrdiff_t>(channels));
  const std::size_t taps = windows.offsets.size(), count = windows.pixels.size();
  std::vector<float> in = uniform_floats(unsigned_size(windows.size * windows.size * windows.in_channels)),
                     weight = uniform_floats(channels * taps);
  in.back() = std::numeric_limits<float>::quiet_NaN();
  weight[0] = std::numeric_limits<float>::infinity();  // outside the image for the first pixels
  std::vector<float> packed(table.packed_floats(channels, taps)), out(channels * count, -7), parts(out);
  table.pack(channels, taps, weight.data(), 1, static_cast<std::ptrdiff_t>(taps), packed.data());
  Convolution shape{.channels = channels,
                    .taps = taps,
                    .strips = count,
                    .strip_width = 1,
                    .at = windows.pixels.data(),
                    .offsets = windows.offsets.data(),
                    .regions = windows.regions.data(),
                    .runs = windows.runs.data(),
                    .weight = packed.data(),
                    .in = in.data(),
                    .out = out.data(),
                    .out_channel = 1};
  table.convolve_pixels(shape);
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < out.size(); ++r) {
    const double expected = sum_of(windows, in, weight.data() + r % channels * taps, r / channels);
    const double bound = 1e-6 * static_cast<double>(taps);
    wrong += std::isfinite(expected) ? !(std::fabs(out[r] - expected) <= bound)
                                     : std::isnan(expected) != std::isnan(out[r]) || std::isfinite(out[r]);
  }
  CAPTURE(table.name, windows.size, windows.pad, windows.in_channels, channels);
  CHECK(wrong == 0);
  shape.out = parts.data();
  for (const std::size_t most : {std::size_t{1}, table.tile - 1, std::size_t{12}}) {
    std::ranges::fill(parts, -7.0f);
    for (std::size_t first = 0; first < count; first += most) {
      shape.at = windows.pixels.data() + first;
      shape.first_strip = first;
      shape.strips = std::min(most, count - first);
      table.convolve_pixels(shape);
    }
    CHECK(same(out, parts));
  }
  std::ranges::fill(parts, -7.0f);
  shape.at = windows.pixels.data();
  shape.first_strip = 0;
  shape.strips = count;
  shape.block = table.tile + 1;
  table.convolve_pixels(shape);
  CHECK(same(out, parts));
}

}  // namespace

TEST_CASE("kernels: regions of pixels add up the taps inside of the image", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    for (const std::size_t channels :
         {std::max(table.width, table.min_pixel_channels), 2 * table.width + 1, 5 * table.width}) {
      for (std::ptrdiff_t size = 1; size <= 9; ++size) {
        for (const std::ptrdiff_t pad : {1, 2, 3}) {
          if (size + 2 * pad >= kWindow) check(table, {.in_channels = 3, .size = size, .pad = pad}, channels);
        }
      }
      // With weights that are fetched, and with more pixels than they are fetched for.
      check(table, {.in_channels = 65, .size = 4}, channels);
      check(table, {.in_channels = 33, .size = 9}, channels);
    }
  }
}

}  // namespace sr::test::tap_regions_tests
