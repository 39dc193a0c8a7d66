// Convolution kernels, and parts of a packed product, with every instruction set of this CPU, against plain
// loops.
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

TEST_CASE("kernels: convolution of all channels, and of some of them", "[kernels]") {
  constexpr std::size_t kInputs = 2, kTaps = 3;  // of a row
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    for (std::size_t channels = 0; channels <= 2 * table.tile + 1; ++channels) {
      for (const std::size_t count : {std::size_t{1}, table.width - 1, table.width, 5 * table.width}) {
        const std::size_t pitch = count + kTaps - 1, taps = kInputs * kTaps;
        std::vector<float> in = uniform_floats(kInputs * pitch + table.width),
                           weight = uniform_floats(channels * taps), bias = uniform_floats(channels),
                           packed(channels * taps), out(channels * count);
        if (count > 2) in[2] = std::numeric_limits<float>::quiet_NaN();
        std::vector<std::int32_t> offsets;
        for (std::size_t t = 0; t < taps; ++t)
          offsets.push_back(static_cast<std::int32_t>(t / kTaps * pitch + t % kTaps));
        std::vector<Strip> strips;
        const std::size_t strip = std::min(count, table.width);
        for (std::size_t first = 0; first < count; first += strip)
          strips.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(first)});
        table.pack_taps(channels, taps, weight.data(), packed.data());
        Convolution shape{.channels = channels,
                          .taps = taps,
                          .strips = strips.size(),
                          .strip_width = strip,
                          .at = strips.data(),
                          .offsets = offsets.data(),
                          .weight = packed.data(),
                          .bias = bias.data(),
                          .clamp_min = 0,
                          .in = in.data(),
                          .out = out.data(),
                          .out_channel = static_cast<std::ptrdiff_t>(count)};
        table.convolve(shape);
        std::size_t wrong = 0;
        for (std::size_t r = 0; r < out.size(); ++r) {
          double sum = bias[r / count];
          for (std::size_t t = 0; t < taps; ++t)
            sum += double{weight[r / count * taps + t]} * in[unsigned_size(offsets[t]) + r % count];
          wrong += std::isnan(sum) ? !std::isnan(out[r]) : !(std::fabs(out[r] - std::max(sum, 0.0)) <= 1e-5);
        }
        CAPTURE(table.name, channels, count);
        CHECK(wrong == 0);
        std::vector<float> parts(out.size(), -1);
        for (std::size_t first = 0; first < channels; first += table.tile) {
          Convolution part = shape;
          part.channels = std::min(table.tile, channels - first);
          part.weight += first * taps;
          part.bias += first;
          part.out = parts.data() + first * count;
          table.convolve(part);
        }
        CHECK(same(out, parts));
        for (shape.block = 1; shape.block <= 4; ++shape.block) {
          std::ranges::fill(parts, -1.0f);
          shape.out = parts.data();
          table.convolve(shape);
          CHECK(same(out, parts));
        }
      }
    }
  }
}

namespace {

// Without its weights, image and result. Some numbers of channels have a bias, and some have relu.
Convolution shape_of_pixels(std::size_t channels, const std::vector<std::int32_t>& offsets,
                            const std::vector<Strip>& pixels, const std::vector<float>& bias) {
  return {.channels = channels,
          .taps = offsets.size(),
          .strips = pixels.size(),
          .strip_width = 1,
          .at = pixels.data(),
          .offsets = offsets.data(),
          .bias = channels % 2 == 0 ? bias.data() : nullptr,
          .clamp_min = channels % 3 == 0 ? 0 : -std::numeric_limits<float>::infinity()};
}

// Pixels two elements apart, with overlapping taps.
void check_pixels(const Table& table, std::size_t channels, std::size_t count, std::size_t taps) {
  constexpr std::size_t kReach = 7;
  std::vector<float> in = uniform_floats(2 * count + kReach + table.width),
                     weight = uniform_floats(channels * taps), bias = uniform_floats(channels);
  in[count] = std::numeric_limits<float>::quiet_NaN();
  in[2 * count] = std::numeric_limits<float>::infinity();
  std::vector<std::int32_t> offsets;
  for (std::size_t t = 0; t < taps; ++t) offsets.push_back(static_cast<std::int32_t>(t * 5 % kReach));
  std::vector<Strip> pixels;
  for (std::size_t p = 0; p < count; ++p)
    pixels.push_back({static_cast<std::int32_t>(2 * p), static_cast<std::int32_t>(p)});
  std::vector<float> panels(table.packed_floats(channels, taps)), tiles(channels * taps),
      out(channels * count, -1), expected(out);
  table.pack(channels, taps, weight.data(), 1, static_cast<std::ptrdiff_t>(taps), panels.data());
  table.pack_taps(channels, taps, weight.data(), tiles.data());
  Convolution shape = shape_of_pixels(channels, offsets, pixels, bias);
  shape.weight = panels.data();
  shape.in = in.data();
  shape.out = out.data();
  shape.out_channel = static_cast<std::ptrdiff_t>(count);
  table.convolve_pixels(shape);
  CAPTURE(table.name, channels, count, taps);
  for (const std::size_t block : {std::size_t{1}, table.tile, std::size_t{12}}) {
    std::vector<float> in_blocks(out.size(), -1);
    shape.block = block;
    shape.out = in_blocks.data();
    table.convolve_pixels(shape);
    CHECK(same(out, in_blocks));
  }
  shape.block = 0;
  // The channels of a pixel next to each other.
  std::vector<float> last(out.size(), -1), transposed(out.size());
  std::vector<Strip> apart = pixels;
  for (Strip& pixel : apart) pixel.out *= static_cast<std::int32_t>(channels);
  shape.at = apart.data();
  shape.out = last.data();
  shape.out_channel = 1;
  table.convolve_pixels(shape);
  for (std::size_t r = 0; r < out.size(); ++r) transposed[r] = last[r % count * channels + r / count];
  CHECK(same(out, transposed));
  shape.at = pixels.data();
  shape.out_channel = static_cast<std::ptrdiff_t>(count);
  shape.weight = tiles.data();
  shape.out = expected.data();
  table.convolve(shape);
  CHECK(same(out, expected));
}

// Taps are pixels of an image whose channels lie last; those of a result are two pixels apart.
void check_depthwise(const Table& table, std::size_t channels, std::size_t count, std::size_t taps) {
  std::vector<float> in = uniform_floats((2 * count + taps) * channels),
                     weight = uniform_floats(channels * taps), bias = uniform_floats(channels);
  in[channels / 2] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::int32_t> offsets;
  for (std::size_t t = 0; t < taps; ++t)
    offsets.push_back(static_cast<std::int32_t>((taps - 1 - t) * channels));
  std::vector<Strip> pixels;
  for (std::size_t p = 0; p < count; ++p)
    pixels.push_back({static_cast<std::int32_t>(2 * p * channels), static_cast<std::int32_t>(p * channels)});
  std::vector<float> panels(table.packed_floats(channels, taps)), out(channels * count, -1);
  table.pack(channels, taps, weight.data(), 1, static_cast<std::ptrdiff_t>(taps), panels.data());
  Convolution shape = shape_of_pixels(channels, offsets, pixels, bias);
  shape.weight = panels.data();
  shape.in = in.data();
  shape.out = out.data();
  shape.out_channel = 1;
  table.convolve_depthwise(shape);
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < out.size(); ++r) {
    const std::size_t c = r % channels;
    double sum = shape.bias == nullptr ? 0 : bias[c];
    for (std::size_t t = 0; t < taps; ++t)
      sum += double{weight[c * taps + t]} * in[2 * (r - c) + unsigned_size(offsets[t]) + c];
    const double expected = std::isnan(sum) ? sum : std::max(sum, double{shape.clamp_min});
    wrong += std::isnan(expected) ? !std::isnan(out[r]) : !(std::fabs(out[r] - expected) <= 1e-5);
  }
  CAPTURE(table.name, channels, count, taps);
  CHECK(wrong == 0);
  std::vector<float> in_blocks(out.size(), -1);
  shape.block = 3;
  shape.out = in_blocks.data();
  table.convolve_depthwise(shape);
  CHECK(same(out, in_blocks));
}

}  // namespace

TEST_CASE("kernels: depthwise convolution of channels that lie last", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    for (std::size_t channels = table.min_pixel_channels; channels <= 4 * table.width + 1; ++channels) {
      for (const std::size_t count : {std::size_t{1}, table.tile - 1, table.tile, 2 * table.tile + 3}) {
        check_depthwise(table, channels, count, 9);
        check_depthwise(table, channels, count, 1);
      }
    }
  }
}

namespace {

// Compares `kernel` with `added` and two bounds with what it computes without.
void check_epilogue(const Table& table, void (*kernel)(const Convolution& shape), std::size_t count,
                    bool is_last) {
  const std::size_t channels = 2 * table.width + 3, taps = 3,
                    strip = kernel == table.convolve ? table.width : 1;
  const std::size_t results = count * strip;
  const std::vector<float> in = uniform_floats((2 * results + taps) * channels),
                           weight = uniform_floats(channels * taps + table.packed_floats(channels, taps));
  std::vector<std::int32_t> offsets;
  for (std::size_t t = 0; t < taps; ++t) offsets.push_back(static_cast<std::int32_t>(t * channels));
  std::vector<Strip> strips;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * strip;
    strips.push_back(
        {static_cast<std::int32_t>(at), static_cast<std::int32_t>(is_last ? at * channels : at)});
  }
  std::vector<float> added = uniform_floats(channels * results), plain(added.size()), out(added.size());
  added[1] = std::numeric_limits<float>::quiet_NaN();
  Convolution shape{.channels = channels,
                    .taps = taps,
                    .strips = count,
                    .strip_width = strip,
                    .at = strips.data(),
                    .offsets = offsets.data(),
                    .weight = weight.data(),
                    .in = in.data(),
                    .out = plain.data(),
                    .out_channel = is_last ? 1 : static_cast<std::ptrdiff_t>(results)};
  kernel(shape);
  shape.added = added.data();
  shape.clamp_min = -0.1F;
  shape.clamp_max = 0.3F;
  shape.out = out.data();
  kernel(shape);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const float sum = plain[i] + added[i];
    plain[i] = std::isnan(sum) ? sum : std::min(0.3F, std::max(-0.1F, sum));
  }
  CAPTURE(table.name, count, is_last);
  CHECK(same(plain, out));
}

}  // namespace

TEST_CASE("kernels: convolutions add and clamp before they write", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    for (const std::size_t count : {std::size_t{1}, table.tile - 1, table.tile, 2 * table.tile + 3}) {
      check_epilogue(table, table.convolve, count, false);
      check_epilogue(table, table.convolve_pixels, count, false);
      check_epilogue(table, table.convolve_pixels, count, true);
      check_epilogue(table, table.convolve_depthwise, count, true);
    }
  }
}

TEST_CASE("kernels: both convolution kernels give the same bits", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    for (std::size_t channels = table.min_pixel_channels; channels <= 4 * table.width + 1; ++channels) {
      for (const std::size_t count : {std::size_t{1}, table.tile - 1, table.tile, 2 * table.tile + 3})
        check_pixels(table, channels, count, 7);
    }
    // More weights than the cache has room for.
    for (const std::size_t channels : {table.min_pixel_channels, 2 * table.width, 5 * table.width + 3}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{49}, std::size_t{64}, std::size_t{65}})
        check_pixels(table, channels, count, 2055);
    }
  }
}

TEST_CASE("kernels: parts of a packed product are bit-identical to the whole", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{5}, 5 * table.width}) {
      const std::size_t m = 3 * table.tile + 3, k = 37, part = n == 1 ? 4 : table.tile;
      const std::vector<float> a = uniform_floats(m * k), b = uniform_floats(n * k);
      std::vector<float> whole(m * n), parts(m * n), memory(table.packed_floats(n, k) + 16);
      float* packed = memory.data();
      while (reinterpret_cast<std::uintptr_t>(packed) % 64 != 0) ++packed;
      table.pack(n, k, b.data(), 1, static_cast<std::ptrdiff_t>(k), packed);
      Gemm product{.m = m,
                   .n = n,
                   .k = k,
                   .a = a.data(),
                   .a_row = static_cast<std::ptrdiff_t>(k),
                   .b = packed,
                   .out = whole.data(),
                   .out_row = static_cast<std::ptrdiff_t>(n)};
      table.packed_gemm(product);
      for (std::size_t first = 0; first < m; first += part) {
        product.m = std::min(part, m - first);
        product.a = a.data() + first * k;
        product.out = parts.data() + first * n;
        table.packed_gemm(product);
      }
      CAPTURE(table.name, n);
      CHECK(whole == parts);
    }
  }
}

TEST_CASE("kernels: panels of one row are bit-identical to the whole row", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    const std::size_t panel = 2 * table.width;
    for (const std::size_t n : {panel, 2 * panel, 3 * panel, 4 * panel, 5 * panel + 3}) {
      for (const std::size_t k : {1, 3, 4, 38}) {
        const std::vector<float> a = uniform_floats(k), b = uniform_floats(n * k), bias = uniform_floats(n);
        std::vector<float> whole(n), parts(n), memory(table.packed_floats(n, k) + 16);
        float* packed = memory.data();
        while (reinterpret_cast<std::uintptr_t>(packed) % 64 != 0) ++packed;
        table.pack(n, k, b.data(), 1, static_cast<std::ptrdiff_t>(k), packed);
        Gemm product{.m = 1,
                     .n = n,
                     .k = k,
                     .a = a.data(),
                     .a_row = 0,
                     .b = packed,
                     .bias = bias.data(),
                     .clamp_min = n % 2 == 0 ? 0 : -std::numeric_limits<float>::infinity(),
                     .out = whole.data()};
        table.packed_gemm(product);
        for (std::size_t first = 0; first < n; first += panel) {
          product.n = first + panel > n - panel ? n - first : panel;  // the last part has the rest
          product.b = packed + first * k;
          product.bias = bias.data() + first;
          product.out = parts.data() + first;
          table.packed_gemm(product);
          if (product.n != panel) break;
        }
        CAPTURE(table.name, n, k);
        CHECK(same(whole, parts));
      }
    }
  }
}
