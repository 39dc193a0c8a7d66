// The second half of a transposed convolution: adds the window of each position to the result.
#pragma once

#include <cstddef>

#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// to[i * step] += factor * from[i]
SR_KERNEL_INLINE void add_spread(const float* from, std::ptrdiff_t count, float factor, std::ptrdiff_t step,
                                 float* to) {
  if (step == 1) {
    over_row(
        static_cast<std::size_t>(count), [&](std::size_t i, auto part) __attribute__((always_inline)) {
          part.store(fma(part.load(from + i), Vec(factor), part.load(to + i)), to + i);
        });
    return;
  }
  for (std::ptrdiff_t i = 0; i < count; ++i) to[i * step] += factor * from[i];
}

// The positions whose tap at `shift` from the first lies within the result: `first` to `end` - 1.
struct Covered {
  std::ptrdiff_t shift, first, end;

  SR_KERNEL_INLINE Covered(const Axis& axis, std::ptrdiff_t tap)
      : shift(tap * axis.dilation - axis.pad),
        first(shift < 0 ? (-shift + axis.step - 1) / axis.step : 0),
        end(shift < axis.out ? (axis.out - shift + axis.step - 1) / axis.step : 0) {
    if (end > axis.in) end = axis.in;
  }
};

[[gnu::flatten]] inline void add_windows(const TransposedConvolution& all) {
  const std::ptrdiff_t row = all.x.in, out_row = all.x.out, taps = all.y.kernel * all.x.kernel;
  for (std::size_t c = 0; c < all.channels; ++c) {
    const auto channel = static_cast<std::ptrdiff_t>(c);
    float* const plane = all.out + channel * all.y.out * out_row;
    const Vec begin(all.bias == nullptr ? 0.0f : all.bias[c]);
    over_row(
        static_cast<std::size_t>(all.y.out * out_row), [&](std::size_t i, auto part) __attribute__((
                                                           always_inline)) { part.store(begin, plane + i); });
    const float* const columns = all.columns + channel / all.outputs * all.channel_stride;
    for (std::ptrdiff_t tap = 0; tap < taps; ++tap) {
      const Covered y(all.y, tap / all.x.kernel), x(all.x, tap % all.x.kernel);
      const float factor = all.factors == nullptr ? 1.0f : all.factors[channel * taps + tap];
      for (std::ptrdiff_t i = y.first; i < y.end; ++i) {
        if (x.first >= x.end) break;
        add_spread(columns + tap * all.tap_stride + i * row + x.first, x.end - x.first, factor, all.x.step,
                   plane + (i * all.y.step + y.shift) * out_row + x.first * all.x.step + x.shift);
      }
    }
  }
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
