// Kernels of images with every instruction set of this CPU, against plain loops.
#include <algorithm>
#include <array>
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
using sr::test::uniform_floats;
using sr::test::unsigned_size;

namespace {

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
        std::vector<float> in = uniform_floats(unsigned_size(2 * 5 * width)),
                           scratch(unsigned_size(2 * step * pool.phase_width));
        if (width > 3) in[unsigned_size(width) + 3] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> divisors = uniform_floats(unsigned_size(pool.y.out * pool.x.out));
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
          const std::vector<float> in = uniform_floats(unsigned_size(kChannels * kHeight * width));
          std::vector<float> out(unsigned_size(kChannels * step * step * rows * pitch), -1), expected;
          for (std::ptrdiff_t c = 0; c < kChannels; ++c) {
            for (std::ptrdiff_t phase = 0; phase < step * step; ++phase) {
              for (std::ptrdiff_t at = 0; at < rows * pitch; ++at) {
                const std::ptrdiff_t y = at / pitch * step + phase / step - pad,
                                     x = at % pitch * step + phase % step - pad;
                const bool is_inside = y >= 0 && y < kHeight && x >= 0 && x < width;
                expected.push_back(is_inside ? in[unsigned_size((c * kHeight + y) * width + x)] : 0.0f);
              }
            }
          }
          table.pad_image({.channels = unsigned_size(kChannels),
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
              const std::vector<float> in = uniform_floats(unsigned_size(kHeight * row));
              std::vector<float> out(unsigned_size(rows * columns * run), -1), expected;
              for (std::ptrdiff_t at = 0; at < rows * columns * run; ++at) {
                const std::ptrdiff_t y = at / (columns * run) - pad, x = at / run % columns - pad;
                const bool is_inside = y >= 0 && y < kHeight && x >= 0 && x < width;
                expected.push_back(is_inside ? in[unsigned_size(y * row + x * (run + gap) + at % run)]
                                             : 0.0f);
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

TEST_CASE("kernels: maxima of bytes", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    for (const std::size_t channels : {1, 15, 16, 33, 64, 70, 130}) {
      for (const auto [kernel, step, pad] : std::vector<std::array<std::ptrdiff_t, 3>>{
               {1, 1, 0}, {2, 2, 0}, {3, 2, 1}, {3, 1, 1}, {2, 3, 1}, {5, 2, 2}}) {
        for (const bool is_signed : {false, true}) {
          Pooling windows;
          windows.y = axis(7, kernel, step, pad, 1);
          windows.x = axis(9, kernel, step, pad, 1);
          BytePooling pool;
          pool.images = 2;
          pool.channels = channels;
          pool.y = windows.y;
          pool.x = windows.x;
          pool.is_signed = is_signed;
          std::vector<std::uint8_t> in(2 * 7 * 9 * channels);
          for (std::uint8_t& byte : in) byte = static_cast<std::uint8_t>(sr::test::random_bits()());
          const std::size_t pixels = unsigned_size(pool.y.out * pool.x.out);
          std::vector<std::uint8_t> out(2 * pixels * channels);
          pool.in = in.data();
          pool.out = out.data();
          set->table.max_pool_bytes(pool);
          const auto value = [&](std::uint8_t byte) {
            return is_signed ? int{static_cast<std::int8_t>(byte)} : int{byte};
          };
          std::size_t wrong = 0;
          for (std::size_t at = 0; at < out.size(); ++at) {
            const std::size_t c = at % channels, pixel = at / channels % pixels,
                              image = at / channels / pixels;
            int largest = -1000;
            each_in_window(windows, static_cast<std::ptrdiff_t>(pixel) / pool.x.out,
                           static_cast<std::ptrdiff_t>(pixel) % pool.x.out,
                           [&](std::ptrdiff_t y, std::ptrdiff_t x) {
                             const std::size_t from = image * 63 + unsigned_size(y * 9 + x);
                             largest = std::max(largest, value(in[from * channels + c]));
                           });
            wrong += value(out[at]) != largest;
          }
          CAPTURE(set->table.name, channels, kernel, step, pad, is_signed);
          CHECK(wrong == 0);
        }
      }
    }
  }
}
