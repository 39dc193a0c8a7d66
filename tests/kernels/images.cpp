// Kernels of images, and kernels on parts of a product or convolution, with every instruction set of this
// CPU, against plain loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "support/catch.hpp"
#include "support/floats.hpp"
#include "support/kernel_sets.hpp"

using namespace sr::kernels;
using sr::test::kernel_sets;

namespace {

std::vector<float> numbers(std::size_t count) {
  static sr::test::RandomFloats random(11, -1, 1);
  return random(count);
}

std::size_t size_of(std::ptrdiff_t count) {
  return static_cast<std::size_t>(count);
}

Axis axis(std::ptrdiff_t in, std::ptrdiff_t kernel, std::ptrdiff_t step, std::ptrdiff_t pad,
          std::ptrdiff_t dilation) {
  const std::ptrdiff_t reach = (kernel - 1) * dilation + 1;
  return {in, kernel, step, pad, dilation, in + 2 * pad < reach ? 0 : (in + 2 * pad - reach) / step + 1};
}

// Calls visit(y, x) for each element of the window at (i, j) that lies inside the image.
template <class Visit>
void each_in_window(const Pooling& pool, std::ptrdiff_t i, std::ptrdiff_t j, const Visit& visit) {
  for (std::ptrdiff_t a = 0; a < pool.y.kernel; ++a) {
    for (std::ptrdiff_t b = 0; b < pool.x.kernel; ++b) {
      const std::ptrdiff_t y = i * pool.y.step - pool.y.pad + a * pool.y.dilation;
      const std::ptrdiff_t x = j * pool.x.step - pool.x.pad + b * pool.x.dilation;
      if (y >= 0 && y < pool.y.in && x >= 0 && x < pool.x.in) visit(y, x);
    }
  }
}

bool equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

}  // namespace

TEST_CASE("kernels: pooling of windows of every kind", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (const std::ptrdiff_t width : {0, 1, 2, 7, 8, 9, 16, 17, 33, 40}) {
      for (const auto [kernel, step, pad, dilation] : std::vector<std::array<std::ptrdiff_t, 4>>{
               {1, 1, 0, 1}, {2, 2, 0, 1}, {3, 2, 1, 1}, {3, 1, 1, 1}, {2, 3, 1, 1}, {2, 2, 0, 3}}) {
        Pooling pool;
        pool.planes = 2;
        pool.y = axis(5, kernel, step, pad, dilation);
        pool.x = axis(width, kernel, step, pad, dilation);
        if (pool.y.out <= 0 || pool.x.out <= 0) continue;
        const std::ptrdiff_t row =
            std::max(pad + width, (pool.x.out - 1) * step + (kernel - 1) * dilation + 1);
        pool.phase_width = (row + step - 1) / step;
        std::vector<float> in = numbers(size_of(2 * 5 * width)),
                           scratch(size_of(2 * step * pool.phase_width));
        if (width > 3) in[size_of(width) + 3] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> divisors = numbers(size_of(pool.y.out * pool.x.out));
        std::vector<float> maxima(2 * divisors.size()), means(2 * divisors.size());
        pool.in = in.data();
        pool.scratch = scratch.data();
        pool.out = maxima.data();
        set->table.max_pool(pool);
        pool.out = means.data();
        set->table.mean_pool(pool, divisors.data());
        std::size_t wrong = 0;
        for (std::size_t r = 0; r < maxima.size(); ++r) {
          const auto at = static_cast<std::ptrdiff_t>(r % divisors.size());
          const float* plane = in.data() + static_cast<std::ptrdiff_t>(r / divisors.size()) * 5 * width;
          float most = -std::numeric_limits<float>::infinity();
          double sum = 0;
          each_in_window(pool, at / pool.x.out, at % pool.x.out, [&](std::ptrdiff_t y, std::ptrdiff_t x) {
            const float value = plane[y * width + x];
            most = std::isnan(most) || most > value ? most : value;
            sum += value;
          });
          const double mean = sum / divisors[r % divisors.size()];
          wrong += !(maxima[r] == most || (std::isnan(maxima[r]) && std::isnan(most)));
          wrong += !(std::fabs(means[r] - mean) <= 1e-5 * (std::fabs(mean) + 1) ||
                     (std::isnan(means[r]) && std::isnan(mean)));
        }
        CAPTURE(set->table.name, width, kernel, step, pad, dilation);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("kernels: images are padded and split into phases", "[kernels]") {
  constexpr std::ptrdiff_t kChannels = 2, kHeight = 3;
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    const auto longest = static_cast<std::ptrdiff_t>(5 * table.width + 3);
    for (std::ptrdiff_t width = 1; width <= longest; ++width) {
      for (const std::ptrdiff_t step : {1, 2, 3}) {
        for (const std::ptrdiff_t pad : {0, 1, 3}) {
          const std::ptrdiff_t rows = (kHeight + 2 * pad + step - 1) / step,
                               pitch = (width + 2 * pad + step - 1) / step;
          const std::vector<float> in = numbers(size_of(kChannels * kHeight * width));
          std::vector<float> out(size_of(kChannels * step * step * rows * pitch), -1), expected;
          for (std::ptrdiff_t c = 0; c < kChannels; ++c) {
            for (std::ptrdiff_t phase = 0; phase < step * step; ++phase) {
              for (std::ptrdiff_t at = 0; at < rows * pitch; ++at) {
                const std::ptrdiff_t y = at / pitch * step + phase / step - pad,
                                     x = at % pitch * step + phase % step - pad;
                const bool is_inside = y >= 0 && y < kHeight && x >= 0 && x < width;
                expected.push_back(is_inside ? in[size_of((c * kHeight + y) * width + x)] : 0.0f);
              }
            }
          }
          table.pad_image({.channels = size_of(kChannels),
                           .y = axis(kHeight, 1, step, pad, 1),
                           .x = axis(width, 1, step, pad, 1),
                           .channel_stride = kHeight * width,
                           .row_stride = width,
                           .rows = rows,
                           .pitch = pitch,
                           .from = in.data(),
                           .to = out.data()});
          CAPTURE(table.name, width, step, pad);
          CHECK(out == expected);
        }
      }
    }
  }
}

TEST_CASE("kernels: padding an image whose channels lie last", "[kernels]") {
  constexpr std::ptrdiff_t kHeight = 4;
  for (const Kernels* set : kernel_sets()) {
    for (const std::ptrdiff_t run : {1, 3, 8, 17}) {
      for (const std::ptrdiff_t gap : {0, 5}) {
        for (const std::ptrdiff_t width : {1, 6}) {
          for (const std::ptrdiff_t pad : {0, 1, 3}) {
            // Rows of the copy end before those of the image, and after them.
            for (const std::ptrdiff_t columns : {pad, pad + 1, width + 2 * pad + 1}) {
              if (columns == 0) continue;
              const std::ptrdiff_t rows = kHeight + 2 * pad, row = width * (run + gap) + 2;
              const std::vector<float> in = numbers(size_of(kHeight * row));
              std::vector<float> out(size_of(rows * columns * run), -1), expected;
              for (std::ptrdiff_t at = 0; at < rows * columns * run; ++at) {
                const std::ptrdiff_t y = at / (columns * run) - pad, x = at / run % columns - pad;
                const bool is_inside = y >= 0 && y < kHeight && x >= 0 && x < width;
                expected.push_back(is_inside ? in[size_of(y * row + x * (run + gap) + at % run)] : 0.0f);
              }
              set->table.pad_image({.channels = 1,
                                    .y = {.in = kHeight, .pad = pad},
                                    .x = {.in = width, .pad = pad},
                                    .row_stride = row,
                                    .rows = rows,
                                    .pitch = columns * run,
                                    .run = run,
                                    .column_stride = run + gap,
                                    .from = in.data(),
                                    .to = out.data()});
              CAPTURE(set->table.name, run, gap, width, pad, columns);
              CHECK(out == expected);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("kernels: convolution of all channels, and of some of them", "[kernels]") {
  constexpr std::size_t kInputs = 2, kTaps = 3;  // of a row
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    for (std::size_t channels = 0; channels <= 2 * table.tile + 1; ++channels) {
      for (const std::size_t count : {std::size_t{1}, table.width - 1, table.width, 5 * table.width}) {
        const std::size_t pitch = count + kTaps - 1, taps = kInputs * kTaps;
        std::vector<float> in = numbers(kInputs * pitch + table.width), weight = numbers(channels * taps),
                           bias = numbers(channels), packed(channels * taps), out(channels * count);
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
            sum += double{weight[r / count * taps + t]} * in[size_of(offsets[t]) + r % count];
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
        CHECK(equal_bits(out, parts));
        for (shape.block = 1; shape.block <= 4; ++shape.block) {
          std::ranges::fill(parts, -1.0f);
          shape.out = parts.data();
          table.convolve(shape);
          CHECK(equal_bits(out, parts));
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
  std::vector<float> in = numbers(2 * count + kReach + table.width), weight = numbers(channels * taps),
                     bias = numbers(channels);
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
    CHECK(equal_bits(out, in_blocks));
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
  CHECK(equal_bits(out, transposed));
  shape.at = pixels.data();
  shape.out_channel = static_cast<std::ptrdiff_t>(count);
  shape.weight = tiles.data();
  shape.out = expected.data();
  table.convolve(shape);
  CHECK(equal_bits(out, expected));
}

// Taps are pixels of an image whose channels lie last; those of a result are two pixels apart.
void check_depthwise(const Table& table, std::size_t channels, std::size_t count, std::size_t taps) {
  std::vector<float> in = numbers((2 * count + taps) * channels), weight = numbers(channels * taps),
                     bias = numbers(channels);
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
      sum += double{weight[c * taps + t]} * in[2 * (r - c) + size_of(offsets[t]) + c];
    const double expected = std::isnan(sum) ? sum : std::max(sum, double{shape.clamp_min});
    wrong += std::isnan(expected) ? !std::isnan(out[r]) : !(std::fabs(out[r] - expected) <= 1e-5);
  }
  CAPTURE(table.name, channels, count, taps);
  CHECK(wrong == 0);
  std::vector<float> in_blocks(out.size(), -1);
  shape.block = 3;
  shape.out = in_blocks.data();
  table.convolve_depthwise(shape);
  CHECK(equal_bits(out, in_blocks));
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

TEST_CASE("kernels: both convolution kernels give the same bits", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const Table& table = set->table;
    for (std::size_t channels = table.min_pixel_channels; channels <= 4 * table.width + 1; ++channels) {
      for (const std::size_t count : {std::size_t{1}, table.tile - 1, table.tile, 2 * table.tile + 3})
        check_pixels(table, channels, count, 7);
    }
    // Weights in several blocks of taps with partial sums between them, for more pixels than fit at once.
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
      const std::vector<float> a = numbers(m * k), b = numbers(n * k);
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
