// Depthwise convolution of 8-bit images in NHWC. A block of channels fills one register with bytes, and four
// registers with 32-bit sums. The rows of a window are interleaved byte by byte, so that one instruction,
// which adds four products, sums a column of the window. Interleaving permutes the channels of a block.
// Packing the results to bytes restores their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sr/kernels/byte_registers.hpp>
#include <sr/kernels/int8_dots.hpp>
#include <sr/kernels/int8_finish.hpp>
#include <sr/kernels/int8_images.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// The channel of lane `lane` of register `v` of a block.
inline constexpr std::size_t interleaved_channel(std::size_t v, std::size_t lane) {
  return lane / 4 * 16 + v * 4 + lane % 4;
}
// Groups of four rows of a column of a window.
inline constexpr std::size_t column_groups(std::size_t kernel) {
  return (kernel + kInGroup - 1) / kInGroup;
}

// The packed weights of a block: for each column of the window, its groups for each of the four registers.
// Then the sum of the weights of each channel.
inline std::size_t packed_int8_depthwise_bytes(std::size_t channels, std::size_t kernel) {
  const std::size_t blocks = (channels + kByteLanes - 1) / kByteLanes;
  return blocks * kByteLanes * (kernel * column_groups(kernel) + 1) * kInGroup;
}

// `weights` has `channels` windows of kernel x kernel.
inline void pack_int8_depthwise(std::size_t channels, std::size_t kernel, const std::int8_t* weights,
                                std::uint8_t* packed) {
  std::uint8_t* to = packed;
  const auto weight = [=](std::size_t c, std::size_t row, std::size_t column) {
    return c < channels && row < kernel ? weights[(c * kernel + row) * kernel + column] : std::int8_t{0};
  };
  for (std::size_t block = 0; block < channels; block += kByteLanes) {
    const auto each_lane = [&](auto body) {
      for (std::size_t v = 0; v < 4; ++v) {
        for (std::size_t lane = 0; lane < kWidth; ++lane) body(block + interleaved_channel(v, lane));
      }
    };
    for (std::size_t column = 0; column < kernel; ++column) {
      for (std::size_t first = 0; first < kernel; first += kInGroup) {
        each_lane([&](std::size_t c) {
          for (std::size_t row = first; row < first + kInGroup; ++row)
            *to++ = static_cast<std::uint8_t>(weight(c, row, column));
        });
      }
    }
    each_lane([&](std::size_t c) {
      std::int32_t sum = 0;
      for (std::size_t tap = 0; tap < kernel * kernel; ++tap) sum += weight(c, tap / kernel, tap % kernel);
      std::memcpy(to, &sum, sizeof(sum));
      to += sizeof(sum);
    });
  }
}

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)

#if defined(SR_KERNEL_AVX512)
inline constexpr std::size_t kDepthwisePixels = 4;
#else
inline constexpr std::size_t kDepthwisePixels = 2;
#endif

// Floats of a block, in the order of its registers.
struct BlockFloats {
  Vec registers[4];

  SR_KERNEL_INLINE BlockFloats(const float* from, std::size_t count, float rest) {
    float ordered[kByteLanes];
    for (std::size_t c = 0; c < kByteLanes; ++c) ordered[c] = c < count ? from[c] : rest;
    unrolled<4>([&](auto v) {
      float lanes[kWidth];
      for (std::size_t lane = 0; lane < kWidth; ++lane) lanes[lane] = ordered[interleaved_channel(v, lane)];
      registers[v] = Vec::load(lanes);
    });
  }
};

// Writes the results of `count` channels in their order, from element `at` of the output on.
template <bool kBytes, Int8Finish::Added kKind>
SR_KERNEL_INLINE void write_block(const Finisher<kBytes, kKind>& finisher, const Vec (&results)[4],
                                  std::ptrdiff_t at, std::size_t count) {
  if constexpr (kBytes) {
    Ints whole[4];
    unrolled<4>([&](auto v) { whole[v] = finisher.to_bytes(results[v]); });
    const auto in_order = [&](auto is_signed) __attribute__((always_inline)) {
      store_channels(packed<is_signed>(whole[0], whole[1], whole[2], whole[3]),
                     static_cast<std::uint8_t*>(finisher.finish.out) + at, count);
    };
    if (finisher.finish.to_signed) return in_order(std::true_type{});
    in_order(std::false_type{});
  } else {
    float ordered[kByteLanes];
    unrolled<4>([&](auto v) {
      float lanes[kWidth];
      results[v].store(lanes);
      unrolled<kWidth / 4>([&](auto quarter) {
        std::memcpy(ordered + quarter * 16 + v * 4, lanes + quarter * 4, 4 * sizeof(float));
      });
    });
    std::memcpy(static_cast<float*>(finisher.finish.out) + at, ordered, count * sizeof(float));
  }
}

// A row of results at the channels of a block.
template <class Dot, std::size_t kKernel>
struct DepthwiseBlock {
  static constexpr std::size_t kGroups = column_groups(kKernel);

  std::size_t count;  // channels
  Dot factors[kKernel][kGroups][4];
  ResultLanes lanes[4];
  const std::uint8_t* rows[kKernel];  // of the image, or of padding
  std::ptrdiff_t step[kKernel];       // bytes from a pixel to the next; 0 of padding
  ByteRegister padding;               // in the image's type
  ByteRegister flip;                  // the bits in which bytes differ from what is read

  SR_KERNEL_INLINE DepthwiseBlock(const Int8Depthwise& all, std::size_t channel)
      : count(all.channels - channel < kByteLanes ? all.channels - channel : kByteLanes) {
    const std::uint8_t* weight = all.weight + channel * (kKernel * kGroups + 1) * kInGroup;
    for (auto& column : factors) {
      for (auto& group : column) {
        for (Dot& factor : group) {
          factor = Dot::signed_bytes(load_ints(weight));
          weight += kWidth * kInGroup;
        }
      }
    }
    const BlockFloats factor(all.finish.factor + channel, count, 0);
    const BlockFloats bias(all.finish.bias == nullptr ? nullptr : all.finish.bias + channel,
                           all.finish.bias == nullptr ? 0 : count, -0.0f);
    unrolled<4>([&](auto v) {
      const Ints sums = load_ints(weight + v * kWidth * sizeof(std::int32_t));
      lanes[v] = {factor.registers[v], bias.registers[v], ResultLanes::start_of(all.zero, sums)};
    });
    const int signed_bit = all.in_signed ? 0x80 : 0;
    std::memset(&padding, all.zero ^ signed_bit, sizeof(padding));
    std::memset(&flip, signed_bit, sizeof(flip));
  }
};

// kPixels results of a row from column `x` on.
template <std::size_t kPixels, std::size_t kStep, class Dot, std::size_t kKernel, class Finisher>
SR_KERNEL_INLINE void depthwise_pixels(const Int8Depthwise& all, const DepthwiseBlock<Dot, kKernel>& block,
                                       const Finisher& finisher, std::ptrdiff_t x, std::ptrdiff_t to) {
  constexpr std::size_t kGroups = DepthwiseBlock<Dot, kKernel>::kGroups;
  Ints sums[kPixels][4];
  unrolled<kPixels>([&](auto p) { unrolled<4>([&](auto v) { sums[p][v] = block.lanes[v].start; }); });
  const std::ptrdiff_t first = x * static_cast<std::ptrdiff_t>(kStep) - all.x.pad;
  unrolled<(kPixels - 1) * kStep + kKernel>([&](auto i) {
    const std::ptrdiff_t column = first + static_cast<std::ptrdiff_t>(std::size_t{i});
    const bool exists = column >= 0 && column < all.x.in;
    const auto* const padding = reinterpret_cast<const std::uint8_t*>(&block.padding);
    const auto row = [&](std::size_t r) __attribute__((always_inline)) {
      if (r >= kKernel) return ByteRegister{};
      const std::uint8_t* const from = exists ? block.rows[r] + column * block.step[r] : padding;
      return load_channels(from, block.count) ^ block.flip;
    };
    unrolled<kGroups>([&](auto g) {
      constexpr std::size_t kFirst = g * kInGroup;
      const ByteRegister a = row(kFirst), b = row(kFirst + 1), c = row(kFirst + 2), d = row(kFirst + 3);
      const ByteRegister low_ab = low_of_bytes(a, b), high_ab = high_of_bytes(a, b),
                         low_cd = low_of_bytes(c, d), high_cd = high_of_bytes(c, d);
      const ByteRegister columns[4] = {low_of_pairs(low_ab, low_cd), high_of_pairs(low_ab, low_cd),
                                       low_of_pairs(high_ab, high_cd), high_of_pairs(high_ab, high_cd)};
      unrolled<4>([&](auto v) {
        const Dot bytes = Dot::right(Ints(reinterpret_cast<Int32s>(columns[v])));
        unrolled<kKernel>([&](auto j) {
          if constexpr (i >= j && (i - j) % kStep == 0 && (i - j) / kStep < kPixels) {
            constexpr std::size_t p = (i - j) / kStep;
            sums[p][v] = Dot::add(sums[p][v], block.factors[j][g][v], bytes);
          }
        });
      });
    });
  });
  unrolled<kPixels>([&](auto p) {
    Vec results[4];
    unrolled<4>([&](auto v) { results[v] = finisher.of(block.lanes[v], sums[p][v], 0, Full{}); });
    write_block(finisher, results, to + static_cast<std::ptrdiff_t>(std::size_t{p}) * all.finish.out_pixel,
                block.count);
  });
}

template <std::size_t kStep, class Dot, std::size_t kKernel, class Finisher>
[[gnu::flatten, gnu::noinline]] void depthwise_row_of(const Int8Depthwise& all,
                                                      const DepthwiseBlock<Dot, kKernel>& block,
                                                      const Finisher finisher, std::ptrdiff_t to) {
  constexpr std::ptrdiff_t kPixels = kDepthwisePixels;
  const std::ptrdiff_t distance = all.finish.out_pixel;
  if (all.x.out < kPixels) {
    for (std::ptrdiff_t x = 0; x < all.x.out; ++x)
      depthwise_pixels<1, kStep>(all, block, finisher, x, to + x * distance);
    return;
  }
  for (std::ptrdiff_t x = 0; x < all.x.out; x += kPixels) {
    const std::ptrdiff_t first = x < all.x.out - kPixels ? x : all.x.out - kPixels;  // the last ones overlap
    depthwise_pixels<kPixels, kStep>(all, block, finisher, first, to + first * distance);
  }
}

template <class Dot, std::size_t kKernel, std::size_t kStep>
void int8_depthwise_of(const Int8Depthwise& all) {
  const auto with = [&](const auto& finisher) __attribute__((always_inline)) {
    for (std::size_t channel = 0; channel < all.channels; channel += kByteLanes) {
      DepthwiseBlock<Dot, kKernel> block(all, channel);
      for (std::ptrdiff_t y = all.first_row; y < all.end_row; ++y) {
        for (std::size_t r = 0; r < kKernel; ++r) {
          const std::ptrdiff_t row =
              y * static_cast<std::ptrdiff_t>(kStep) - all.y.pad + static_cast<std::ptrdiff_t>(r);
          const bool exists = row >= 0 && row < all.y.in;
          block.rows[r] = exists ? all.in + row * all.in_row + channel
                                 : reinterpret_cast<const std::uint8_t*>(&block.padding);
          block.step[r] = exists ? all.in_pixel : 0;
        }
        depthwise_row_of<kStep>(
            all, block, finisher,
            (y - all.first_row) * all.x.out * all.finish.out_pixel + static_cast<std::ptrdiff_t>(channel));
      }
    }
  };
  if (all.finish.to_bytes) return with(Finisher<true, Int8Finish::Added::none>(all.finish));
  with(Finisher<false, Int8Finish::Added::none>(all.finish));
}

template <class Dot>
void int8_depthwise(const Int8Depthwise& all) {
  if (all.x.kernel == 3)
    return all.x.step == 1 ? int8_depthwise_of<Dot, 3, 1>(all) : int8_depthwise_of<Dot, 3, 2>(all);
  return all.x.step == 1 ? int8_depthwise_of<Dot, 5, 1>(all) : int8_depthwise_of<Dot, 5, 2>(all);
}
inline constexpr auto* kInt8Depthwise = &int8_depthwise<DotOfPairs>;
inline constexpr auto* kInt8DepthwiseByBytes = &int8_depthwise<DotOfBytes>;
#else
inline constexpr void (*kInt8Depthwise)(const Int8Depthwise& all) = nullptr;
inline constexpr void (*kInt8DepthwiseByBytes)(const Int8Depthwise& all) = nullptr;
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
