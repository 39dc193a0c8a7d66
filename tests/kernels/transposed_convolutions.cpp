// Windows of transposed convolutions, with the kernels of every instruction set of this CPU, against plain
// loops.
#include <array>
#include <cmath>
#include <cstddef>
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

Axis axis(std::ptrdiff_t in, const std::array<std::ptrdiff_t, 4>& window, std::ptrdiff_t more) {
  const auto [kernel, step, pad, dilation] = window;
  return {in, kernel, step, pad, dilation, (in - 1) * step - 2 * pad + (kernel - 1) * dilation + 1 + more};
}

std::vector<double> expected(const TransposedConvolution& all) {
  const std::ptrdiff_t taps = all.y.kernel * all.x.kernel, plane = all.y.out * all.x.out;
  std::vector<double> out(all.channels * static_cast<std::size_t>(plane));
  for (std::ptrdiff_t c = 0; c < static_cast<std::ptrdiff_t>(all.channels); ++c) {
    for (std::ptrdiff_t p = 0; p < plane; ++p)
      out[static_cast<std::size_t>(c * plane + p)] = all.bias == nullptr ? 0 : all.bias[c];
    for (std::ptrdiff_t tap = 0; tap < taps; ++tap) {
      for (std::ptrdiff_t i = 0; i < all.y.in * all.x.in; ++i) {
        const std::ptrdiff_t y = i / all.x.in * all.y.step - all.y.pad + tap / all.x.kernel * all.y.dilation;
        const std::ptrdiff_t x = i % all.x.in * all.x.step - all.x.pad + tap % all.x.kernel * all.x.dilation;
        if (y < 0 || y >= all.y.out || x < 0 || x >= all.x.out) continue;
        const double factor = all.factors == nullptr ? 1 : all.factors[c * taps + tap];
        out[static_cast<std::size_t>(c * plane + y * all.x.out + x)] +=
            factor * all.columns[c / all.outputs * all.channel_stride + tap * all.tap_stride + i];
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("kernels: windows of a transposed convolution are added to the result", "[kernels]") {
  constexpr std::ptrdiff_t kChannels = 4;
  const std::vector<std::array<std::ptrdiff_t, 4>> windows{
      {1, 1, 0, 1}, {3, 1, 1, 1}, {3, 2, 1, 1}, {2, 2, 0, 1}, {3, 1, 2, 2}, {2, 3, 1, 1}, {5, 2, 4, 1}};
  for (const Kernels* set : kernel_sets()) {
    for (const auto& window : windows) {
      for (const std::ptrdiff_t width : {3, 7, 8, 16, 21}) {
        for (const bool by_channel : {false, true}) {
          for (const std::ptrdiff_t more : {0, 1}) {
            TransposedConvolution all{
                .channels = kChannels, .y = axis(4, window, more), .x = axis(width, window, more)};
            if (all.y.out < 1 || all.x.out < 1) continue;
            const std::ptrdiff_t taps = all.y.kernel * all.x.kernel, positions = all.y.in * all.x.in;
            all.outputs = by_channel ? 2 : 1;
            all.channel_stride = by_channel ? positions : taps * positions;
            all.tap_stride = by_channel ? 0 : positions;
            const std::vector<float> columns = uniform_floats(unsigned_size(kChannels * taps * positions)),
                                     factors = uniform_floats(unsigned_size(kChannels * taps)),
                                     bias = uniform_floats(unsigned_size(kChannels));
            all.columns = columns.data();
            if (by_channel) all.factors = factors.data();
            if (more == 0) all.bias = bias.data();
            const std::vector<double> right = expected(all);
            std::vector<float> out(right.size() + 1, 7);
            all.out = out.data();
            set->table.add_windows(all);
            std::size_t wrong = out.back() == 7 ? 0 : 1;
            for (std::size_t i = 0; i < right.size(); ++i)
              wrong += std::fabs(out[i] - right[i]) <= 1e-5 ? 0 : 1;
            CAPTURE(set->table.name, window, width, by_channel, more);
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}
