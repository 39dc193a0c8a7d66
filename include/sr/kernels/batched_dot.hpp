// Products of pairs of rows, one number each.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// next() returns the products of the next pair of rows, spread over a register; four registers are summed up
// together.
template <class Next>
SR_KERNEL_INLINE void write_sums(const BatchedDot& dots, Next next) {
  const float bias = dots.bias == nullptr ? 0.0f : *dots.bias;
  float* out = dots.out;
  const auto write = [&](float value) __attribute__((always_inline)) {
    *out = dots.clamp_min > value + bias ? dots.clamp_min : value + bias;  // NaN passes
    out += dots.out_stride;
  };
  std::size_t left = dots.count;
  for (; left >= 4; left -= 4) {
    const Vec first = next(), second = next(), third = next();
    const Quad four = sums(first, second, third, next());
    for (int i = 0; i < 4; ++i) write(four[i]);
  }
  for (; left != 0; --left) write(sum(next()));
}

// Rows of kVecs registers. kWhole: they fill the last one.
template <std::size_t kVecs, bool kWhole>
[[gnu::flatten]] void short_batched_dot(const BatchedDot& dots) {
  using Last = std::conditional_t<kWhole, Full, Part>;
  const Last last = [&]() __attribute__((always_inline)) {
    if constexpr (kWhole) {
      return Full{};
    } else {
      return Part{dots.k % kWidth};
    }
  }
  ();
  const float* a = dots.a;
  const float* b = dots.b;
  if (dots.b_row == 0) {
    const ShortRow<kVecs> right(b, last);
    return write_sums(
        dots, [&]() __attribute__((always_inline)) {
          const ShortRow<kVecs> left(a, last);
          a += dots.a_row;
          return dot(left, right);
        });
  }
  write_sums(
      dots, [&]() __attribute__((always_inline)) {
        const ShortRow<kVecs> left(a, last), right(b, last);
        a += dots.a_row;
        b += dots.b_row;
        return dot(left, right);
      });
}

[[gnu::flatten]] inline void long_batched_dot(const BatchedDot& dots) {
  const float* a = dots.a;
  const float* b = dots.b;
  write_sums(
      dots, [&]() __attribute__((always_inline)) {
        const Vec total = dot(dots.k, a, b);
        a += dots.a_row;
        b += dots.b_row;
        return total;
      });
}

// Half of the registers of AVX2, which has the fewest: a right side that all rows share stays in them.
inline constexpr std::size_t kMostVecsOfShortRow = 8;

template <bool kWhole, std::size_t... vecs>
consteval std::array<BatchedDotKernel, sizeof...(vecs)> short_batched_dots(std::index_sequence<vecs...>) {
  return {short_batched_dot<vecs + 1, kWhole>...};
}

inline BatchedDotKernel batched_dot_for(std::size_t k) {
  using Counts = std::make_index_sequence<kMostVecsOfShortRow>;
  static constexpr auto kOfWhole = short_batched_dots<true>(Counts()),
                        kOthers = short_batched_dots<false>(Counts());
  if (k == 0 || k > kMostVecsOfShortRow * kWidth) return long_batched_dot;
  return (k % kWidth == 0 ? kOfWhole : kOthers)[(k - 1) / kWidth];
}

inline void batched_dot(const BatchedDot& dots) {
  batched_dot_for(dots.k)(dots);
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
