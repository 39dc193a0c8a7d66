// Convolution of one image without unfolding it. Tiles of the result are sums over taps (input channel, row
// and column of the window); each tap reads a run of the padded image at its own offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Writes one row of a phase: every `step`-th element of a row of the image, and zeros for the padding.
SR_KERNEL_INLINE void pad_row(const float* from, std::ptrdiff_t first, std::ptrdiff_t step,
                              std::ptrdiff_t width, std::ptrdiff_t count, float* to) {
  std::ptrdiff_t i = 0;
  for (; i < count && first < 0; ++i, first += step) to[i] = 0.0f;
  const std::ptrdiff_t inside = first < width ? (width - first + step - 1) / step : 0;
  const std::ptrdiff_t end = i + inside < count ? i + inside : count;
  if (step == 1) {
    over_row(
        static_cast<std::size_t>(end - i), [&](std::size_t j, auto part) __attribute__((always_inline)) {
          part.store(part.load(from + first + j), to + i + j);
        });
    i = end;
  } else {
    if (step == 2) {
      // Two registers hold the elements of one, and an element behind them, which must be of the row, too.
      constexpr auto kVec = static_cast<std::ptrdiff_t>(kWidth);
      for (; i + kVec < end; i += kVec, first += 2 * kVec)
        even_lanes(Vec::load(from + first), Vec::load(from + first + kVec)).store(to + i);
    }
    for (; i < end; ++i, first += step) to[i] = from[first];
  }
  for (; i < count; ++i) to[i] = 0.0f;
}

inline void pad_pixels(const PaddedImage& image) {
  const auto bytes = [](std::ptrdiff_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); };
  const std::ptrdiff_t before = image.x.pad * image.run, left = image.pitch / image.run - image.x.pad,
                       columns = left < image.x.in ? left : image.x.in,
                       copied = columns < 0 ? 0 : columns * image.run;
  float* to = image.to;
  for (std::ptrdiff_t row = 0; row < image.rows; ++row, to += image.pitch) {
    const std::ptrdiff_t y = row - image.y.pad;
    if (y < 0 || y >= image.y.in || copied == 0) {
      std::memset(to, 0, bytes(image.pitch));
      continue;
    }
    const float* const from = image.from + y * image.row_stride;
    std::memset(to, 0, bytes(before));
    if (image.column_stride == image.run) {
      std::memcpy(to + before, from, bytes(copied));
    } else {
      for (std::ptrdiff_t x = 0; x < columns; ++x)
        std::memcpy(to + before + x * image.run, from + x * image.column_stride, bytes(image.run));
    }
    std::memset(to + before + copied, 0, bytes(image.pitch - before - copied));
  }
}

[[gnu::flatten]] inline void pad_image(const PaddedImage& image) {
  if (image.run != 0) return pad_pixels(image);
  float* to = image.to;
  for (std::size_t c = 0; c < image.channels; ++c) {
    const float* const channel = image.from + static_cast<std::ptrdiff_t>(c) * image.channel_stride;
    for (std::ptrdiff_t phase_y = 0; phase_y < image.y.step; ++phase_y) {
      for (std::ptrdiff_t phase_x = 0; phase_x < image.x.step; ++phase_x) {
        for (std::ptrdiff_t row = 0; row < image.rows; ++row, to += image.pitch) {
          const std::ptrdiff_t y = row * image.y.step + phase_y - image.y.pad;
          const std::ptrdiff_t width = y < 0 || y >= image.y.in ? 0 : image.x.in;
          pad_row(channel + (width == 0 ? 0 : y * image.row_stride), phase_x - image.x.pad, image.x.step,
                  width, image.pitch, to);
        }
      }
    }
  }
}

SR_KERNEL_INLINE Vec clamped(const Convolution& shape, Vec sum) {  // NaN passes
  return first_min(Vec(shape.clamp_max), first_max(Vec(shape.clamp_min), sum));
}

// Computes kChannels channels at kStrips strips.
template <std::size_t kChannels, std::size_t kStrips>
[[gnu::flatten, gnu::noinline]] void convolution_tile(const Convolution& shape, const float* weight,
                                                      const float* bias, const Strip* strips, float* out) {
  Vec sums[kChannels][kStrips];
  unrolled<kChannels>([&](auto c) {
    const Vec start(bias == nullptr ? 0.0f : bias[c]);
    unrolled<kStrips>([&](auto s) { sums[c][s] = start; });
  });
  const float* in[kStrips];
  unrolled<kStrips>([&](auto s) { in[s] = shape.in + strips[s].in; });
  for (std::size_t tap = 0; tap < shape.taps; ++tap, weight += kChannels) {
    Vec columns[kStrips];
    const std::ptrdiff_t offset = shape.offsets[tap];
    unrolled<kStrips>([&](auto s) { columns[s] = Vec::load(in[s] + offset); });
    unrolled<kChannels>([&](auto c) {
      const Vec left(weight[c]);
      unrolled<kStrips>([&](auto s) { sums[c][s] = fma(left, columns[s], sums[c][s]); });
    });
  }
  unrolled<kChannels>([&](auto c) {
    float* const channel = out + static_cast<std::ptrdiff_t>(c) * shape.out_channel;
    const float* const added = shape.added == nullptr ? nullptr : shape.added + (channel - shape.out);
    const auto finish = [&](auto access) __attribute__((always_inline)) {
      unrolled<kStrips>([&](auto s) {
        Vec total = sums[c][s];
        if (added != nullptr) total = total + access.load(added + strips[s].out);
        access.store(clamped(shape, total), channel + strips[s].out);
      });
    };
    if (shape.strip_width == kWidth) {
      finish(Full{});
    } else {
      finish(Part{shape.strip_width});
    }
  });
}

template <std::size_t kChannels>
SR_KERNEL_INLINE void convolve_channels(const Convolution& shape, const float* weight, const float* bias,
                                        float* out) {
  constexpr std::size_t kAtOnce = kChannels <= 2 ? 4 : 2;  // to bridge what a multiply-add takes
  std::size_t s = 0;
  for (; s + kAtOnce <= shape.strips; s += kAtOnce) {
    convolution_tile<kChannels, kAtOnce>(shape, weight, bias, shape.at + s, out);
  }
  for (; s < shape.strips; ++s) convolution_tile<kChannels, 1>(shape, weight, bias, shape.at + s, out);
}

// Calls body for each block of strips: what it reads of the image stays in the cache until all channels are
// computed.
template <class Body>
SR_KERNEL_INLINE void by_blocks(const Convolution& shape, Body body) {
  Convolution part = shape;
  const std::size_t most = shape.block == 0 ? shape.strips : shape.block;
  for (std::size_t first = 0; first < shape.strips; first += most) {
    part.at = shape.at + first;
    part.first_strip = shape.first_strip + first;
    part.strips = shape.strips - first < most ? shape.strips - first : most;
    body(part);
  }
}

inline void convolve(const Convolution& shape) {
  by_blocks(shape, [](const Convolution& part) {
    by_row_tiles(
        part.channels, [&](std::size_t first, auto count) __attribute__((always_inline)) {
          convolve_channels<count>(part, part.weight + first * part.taps,
                                   part.bias == nullptr ? nullptr : part.bias + first,
                                   part.out + static_cast<std::ptrdiff_t>(first) * part.out_channel);
        });
  });
}

// Packs tile after tile; in a tile the weights of a tap are adjacent.
inline void pack_taps(std::size_t channels, std::size_t taps, const float* weight, float* packed) {
  by_row_tiles(channels, [&](std::size_t first, std::size_t count) {
    for (std::size_t tap = 0; tap < taps; ++tap) {
      for (std::size_t c = 0; c < count; ++c) *packed++ = weight[(first + c) * taps + tap];
    }
  });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
