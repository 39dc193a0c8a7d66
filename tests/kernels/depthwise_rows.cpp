// Depthwise convolution row by row, with every instruction set of this CPU, against plain loops.
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

namespace sr::test::depthwise_rows_tests {

namespace {

struct Image {
  std::ptrdiff_t channels = 1, rows = 1, columns = 1, window = 3, step = 1, pad = 1;

  Axis axis(std::ptrdiff_t in) const {
    return {.in = in, .kernel = window, .step = step, .pad = pad, .out = (in + 2 * pad - window) / step + 1};
  }
};

constexpr std::ptrdiff_t kGap = 3;  // floats between the pixels of the result

void check(const Table& table, const Image& image, bool has_epilogue) {
  const Axis y = image.axis(image.rows), x = image.axis(image.columns);
  const std::ptrdiff_t channels = image.channels, taps = image.window * image.window;
  const std::ptrdiff_t pixel = channels + kGap, row = x.out * pixel;
  std::vector<float> in = uniform_floats(unsigned_size(image.rows * image.columns * channels)),
                     weight = uniform_floats(unsigned_size(channels * taps)),
                     bias = uniform_floats(unsigned_size(channels)),
                     added = uniform_floats(unsigned_size(y.out * row));
  in[in.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  weight[0] = std::numeric_limits<float>::infinity();
  std::vector<float> packed(table.packed_floats(unsigned_size(channels), unsigned_size(taps)));
  table.pack(unsigned_size(channels), unsigned_size(taps), weight.data(), 1, taps, packed.data());
  std::vector<Strip> rows;
  for (std::ptrdiff_t i = 0; i < y.out; ++i)
    rows.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i * row)});
  std::vector<float> out(added.size(), -7), expected = out;
  Convolution shape{.channels = unsigned_size(channels),
                    .taps = unsigned_size(taps),
                    .strips = rows.size(),
                    .strip_width = unsigned_size(x.out),
                    .at = rows.data(),
                    .weight = packed.data(),
                    .bias = has_epilogue ? bias.data() : nullptr,
                    .added = has_epilogue ? added.data() : nullptr,
                    .in = in.data(),
                    .out = out.data(),
                    .out_channel = 1,
                    .y = y,
                    .x = x,
                    .in_row = image.columns * channels,
                    .in_pixel = channels,
                    .out_pixel = pixel};
  if (has_epilogue) {
    shape.clamp_min = -0.5F;
    shape.clamp_max = 0.6F;
  }
  table.convolve_depthwise_rows(shape);
  for (std::ptrdiff_t i = 0; i < y.out; ++i) {
    for (std::ptrdiff_t j = 0; j < x.out; ++j) {
      for (std::ptrdiff_t c = 0; c < channels; ++c) {
        double sum = has_epilogue ? bias[unsigned_size(c)] : 0;
        for (std::ptrdiff_t t = 0; t < taps; ++t) {
          const std::ptrdiff_t from_y = i * y.step - y.pad + t / image.window,
                               from_x = j * x.step - x.pad + t % image.window;
          if (from_y < 0 || from_y >= y.in || from_x < 0 || from_x >= x.in) continue;
          sum += double{weight[unsigned_size(c * taps + t)]} *
                 in[unsigned_size((from_y * image.columns + from_x) * channels + c)];
        }
        const auto at = unsigned_size(i * row + j * pixel + c);
        if (has_epilogue) sum += added[at];
        if (has_epilogue && !std::isnan(sum)) sum = std::clamp(sum, -0.5, double{shape.clamp_max});
        expected[at] = static_cast<float>(sum);
      }
    }
  }
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < out.size(); ++at) {
    const bool is_special = !std::isfinite(expected[at]);
    wrong += is_special ? !same(out[at], expected[at]) : !(std::fabs(out[at] - expected[at]) <= 2e-5);
  }
  CAPTURE(table.name, channels, image.rows, image.columns, image.window, image.step, image.pad, has_epilogue);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("kernels: depthwise convolution row by row", "[kernels]") {
  for (const Kernels* set : kernel_sets()) {
    const auto width = static_cast<std::ptrdiff_t>(set->table.width);
    for (const std::ptrdiff_t window : {3, 5}) {
      for (const std::ptrdiff_t step : {1, 2}) {
        for (std::ptrdiff_t columns = 1; columns <= 37; columns += columns < 20 ? 1 : 5) {
          for (const std::ptrdiff_t pad : {std::ptrdiff_t{0}, window / 2, window + 1}) {
            if (columns + 2 * pad < window || 4 + 2 * pad < window) continue;
            check(set->table, {width + 3, 4, columns, window, step, pad}, columns % 2 == 0);
          }
        }
        const auto least = static_cast<std::ptrdiff_t>(set->table.min_pixel_channels);
        for (std::ptrdiff_t channels = least; channels <= 4 * width + 1; ++channels)
          check(set->table, {channels, 7, 9, window, step, window / 2}, channels % 2 == 0);
      }
    }
  }
}

}  // namespace sr::test::depthwise_rows_tests
