// Convolution of 8-bit integers: the windows of some pixels times panels of channels, read where they lie in
// the image.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <sr/kernels/gemm.hpp>
#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/int8_dots.hpp>
#include <sr/kernels/int8_finish.hpp>
#include <sr/kernels/int8_images.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Panels as of floats, each of all groups of a window; then the sums of the weights of each channel.
inline std::size_t packed_int8_windows_bytes(std::size_t channels, std::size_t groups) {
  return int8_columns(channels) * (groups * kInGroup + sizeof(std::int32_t));
}

// `weights` has `channels` rows of `runs` runs of run_bytes bytes each.
inline void pack_int8_windows(std::size_t channels, std::size_t runs, std::size_t run_bytes,
                              const std::int8_t* weights, std::uint8_t* packed) {
  const std::size_t groups = int8_groups(run_bytes), row = runs * run_bytes;
  std::uint8_t* to = packed;
  for (std::size_t column = 0; column < channels; column += kPanel) {
    const std::size_t width = panel_width(channels, column);
    for (std::size_t group = 0; group < runs * groups; ++group) {
      const std::size_t first = group % groups * kInGroup, run = group / groups * run_bytes;
      for (std::size_t c = column; c < column + width; ++c) {
        for (std::size_t i = first; i < first + kInGroup; ++i)
          *to++ = i < run_bytes && c < channels ? static_cast<std::uint8_t>(weights[c * row + run + i]) : 0;
      }
    }
  }
  for (std::size_t c = 0; c < int8_columns(channels); ++c) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < row && c < channels; ++i) sum += weights[c * row + i];
    std::memcpy(to + c * sizeof(sum), &sum, sizeof(sum));
  }
}

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
// Pixels of a tile: registers hold their sums, the weights of a group and a group of a pixel.
#if defined(SR_KERNEL_AVX512)
template <class Dot, std::size_t kVecs>
inline constexpr std::size_t kWindowPixels = kVecs == 4 ? 6 : 12;
#else
template <class Dot, std::size_t kVecs>
inline constexpr std::size_t kWindowPixels = kVecs == 1 ? 6 : 4;  // of pairs, which take two registers each
template <std::size_t kVecs>
inline constexpr std::size_t kWindowPixels<DotOfBytes, kVecs> = kVecs == 1 ? 8 : 6;
#endif

// Sums of kPixels pixels from `first` on at kVecs registers of channels; four are those of two panels.
template <class Dot, std::size_t kPixels, std::size_t kVecs>
SR_KERNEL_INLINE void add_windows_up(const Int8Windows& all, const std::uint8_t* weight,
                                     const ResultLanes* lanes, std::size_t first,
                                     Ints (&sums)[kPixels][kVecs]) {
  unrolled<kPixels>([&](auto p) { unrolled<kVecs>([&](auto v) { sums[p][v] = lanes[v].start; }); });
  const std::uint8_t* in[kPixels];
  unrolled<kPixels>([&](auto p) { in[p] = all.in + all.at[first + p]; });
  constexpr std::size_t kRegister = kWidth * kInGroup, kPanelRow = (kVecs == 4 ? 2 : kVecs) * kRegister;
  const std::size_t second = all.runs * all.groups * kPanelRow;
  for (std::size_t run = 0; run < all.runs; ++run) {
    std::ptrdiff_t at = all.run_at[run];
    const std::ptrdiff_t end = at + static_cast<std::ptrdiff_t>(all.groups * kInGroup);
    for (; at < end; at += kInGroup, weight += kPanelRow) {
      Dot factors[kVecs];
      unrolled<kVecs>([&](auto v) {
        factors[v] = Dot::signed_bytes(load_ints(weight + (v < 2 ? 0 : second) + v % 2 * kRegister));
      });
      unrolled<kPixels>([&](auto p) {
        std::int32_t group;
        std::memcpy(&group, in[p] + at, sizeof(group));
        const Dot bytes = Dot::right(Ints(group));
        unrolled<kVecs>([&](auto v) { sums[p][v] = Dot::add(sums[p][v], factors[v], bytes); });
      });
    }
  }
}

template <class Dot, std::size_t kPixels, std::size_t kVecs>
[[gnu::flatten, gnu::noinline]] void int8_window_tile(const Int8Windows& all, const std::uint8_t* weight,
                                                      const ResultLanes* lanes, std::size_t first,
                                                      std::int32_t* to) {
  Ints sums[kPixels][kVecs];
  add_windows_up<Dot>(all, weight, lanes, first, sums);
  unrolled<kPixels>([&](auto p) {
    unrolled<kVecs>(
        [&](auto v) { std::memcpy(to + (p * kVecs + v) * kWidth, &sums[p][v].lanes, sizeof(Int32s)); });
  });
}

// Writes bytes, without the way of the sums through memory.
template <class Dot, std::size_t kPixels, std::size_t kVecs>
[[gnu::flatten, gnu::noinline]] void int8_window_tile_of_bytes(const Int8Windows& all,
                                                               const std::uint8_t* weight,
                                                               const ResultLanes* lanes, std::size_t column,
                                                               std::size_t first) {
  Ints sums[kPixels][kVecs];
  add_windows_up<Dot>(all, weight, lanes, first, sums);
  const Finisher<true, Int8Finish::Added::none> finisher(all.finish);
  ResultLanes own[kVecs];
  unrolled<kVecs>([&](auto v) { own[v] = lanes[v]; });
  unrolled<kPixels>([&](auto p) {
    const std::ptrdiff_t at =
        static_cast<std::ptrdiff_t>(first + p) * all.finish.out_pixel + static_cast<std::ptrdiff_t>(column);
    unrolled<kVecs>([&](auto v) {
      finisher.write(own[v], sums[p][v], at + static_cast<std::ptrdiff_t>(v * kWidth), Full{});
    });
  });
}

// Indexed by the number of pixels, less one.
template <class Dot, std::size_t kVecs>
inline constexpr auto kInt8WindowTiles = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{&int8_window_tile<Dot, kIndex + 1, kVecs>...};
}
(std::make_index_sequence<kWindowPixels<Dot, kVecs>>{});

// The results of `count` pixels from `first` on.
template <std::size_t kVecs, class Last>
[[gnu::flatten, gnu::noinline]] void finish_int8_windows(const Int8Finish& finish,
                                                         const ResultLanes (&lanes)[kVecs],
                                                         const std::int32_t* sums, std::size_t column,
                                                         std::size_t first, std::size_t count, Last last) {
  with_finisher(
      finish, [&](const auto finisher) __attribute__((always_inline)) {
        ResultLanes own[kVecs];
        unrolled<kVecs>([&](auto v) { own[v] = lanes[v]; });
        std::ptrdiff_t at =
            static_cast<std::ptrdiff_t>(first) * finish.out_pixel + static_cast<std::ptrdiff_t>(column);
        const std::int32_t* const end = sums + count * kVecs * kWidth;
        for (; sums != end; sums += kVecs * kWidth, at += finish.out_pixel) {
          unrolled<kVecs>([&](auto v) {
            const std::ptrdiff_t to = at + static_cast<std::ptrdiff_t>(v * kWidth);
            if constexpr (v + 1 == kVecs) {
              finisher.write(own[v], load_ints(sums + v * kWidth), to, last);
            } else {
              finisher.write(own[v], load_ints(sums + v * kWidth), to, Full{});
            }
          });
        }
      });
}

template <class Dot, std::size_t kVecs, class Last>
SR_KERNEL_INLINE void int8_window_panel(const Int8Windows& all, std::size_t column, Last last) {
  const std::size_t groups = all.runs * all.groups;
  const std::uint8_t* const sums =
      all.weight + int8_columns(all.channels) * groups * kInGroup + column * sizeof(std::int32_t);
  ResultLanes lanes[kVecs];
  unrolled<kVecs>([&](auto v) {
    const auto load = [&](const float* from) __attribute__((always_inline)) {
      if constexpr (v + 1 == kVecs) {
        return last.load(from + column + v * kWidth);
      } else {
        return Vec::load(from + column + v * kWidth);
      }
    };
    lanes[v].factor = load(all.finish.factor);
    lanes[v].bias = all.finish.bias == nullptr ? Vec(-0.0f) : load(all.finish.bias);
    lanes[v].start = ResultLanes::start_of(all.zero, load_ints(sums + v * kWidth * sizeof(std::int32_t)));
  });
  const std::uint8_t* const weight = all.weight + column * groups * kInGroup;
  constexpr std::size_t kMost = kWindowPixels<Dot, kVecs>;
  alignas(64) std::int32_t block[kMost * kVecs * kWidth];
  const bool is_plain =
      std::is_same_v<Last, Full> && all.finish.to_bytes && all.finish.kind == Int8Finish::Added::none;
  // Tiles of about the same size: a small one has too few sums to hide the latency of their additions.
  const std::size_t tiles = (all.pixels + kMost - 1) / kMost;
  for (std::size_t tile = 0, first = 0, count = 0; tile < tiles; ++tile, first += count) {
    count = all.pixels / tiles + (tile < all.pixels % tiles ? 1 : 0);
    if (is_plain && count == kMost) {
      int8_window_tile_of_bytes<Dot, kMost, kVecs>(all, weight, lanes, column, first);
    } else {
      kInt8WindowTiles<Dot, kVecs>[count - 1](all, weight, lanes, first, block);
      finish_int8_windows<kVecs>(all.finish, lanes, block, column, first, count, last);
    }
  }
}

// kByPairs: see packed_gemm.
template <class Dot, bool kByPairs = false>
void int8_windows(const Int8Windows& all) {
  std::size_t column = 0;
  for (; kByPairs && column + 2 * kPanel <= all.channels; column += 2 * kPanel)
    int8_window_panel<Dot, 4>(all, column, Full{});
  for (; column < all.channels; column += kPanel) {
    const std::size_t channels = all.channels - column;
    if (channels >= kPanel) {
      int8_window_panel<Dot, 2>(all, column, Full{});
    } else if (channels == kWidth) {
      int8_window_panel<Dot, 1>(all, column, Full{});
    } else if (channels > kWidth) {
      int8_window_panel<Dot, 2>(all, column, Part{channels % kWidth});
    } else {
      int8_window_panel<Dot, 1>(all, column, Part{channels});
    }
  }
}
inline constexpr auto* kInt8Windows = &int8_windows<DotOfPairs>;
template <bool kByPairs>
inline constexpr auto* kInt8WindowsByBytes = &int8_windows<DotOfBytes, kByPairs>;
#else
inline constexpr void (*kInt8Windows)(const Int8Windows& all) = nullptr;
template <bool kByPairs>
inline constexpr void (*kInt8WindowsByBytes)(const Int8Windows& all) = nullptr;
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
