// Products of pairs of rows, one number each.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Adds the bias to a sum of products and clamps it. Both numbers are read once: the compiler must assume
// that writing a result changes them.
class DotEnd {
 public:
  SR_KERNEL_INLINE explicit DotEnd(const BatchedDot& dots)
      : bias_(dots.bias == nullptr ? 0.0f : *dots.bias), clamp_min_(dots.clamp_min) {}
  SR_KERNEL_INLINE float operator()(float total) const {
    const float value = total + bias_;
    return clamp_min_ > value ? clamp_min_ : value;  // NaN passes
  }

 private:
  float bias_, clamp_min_;
};

// next() returns the products of the next pair of rows, spread over a register; four registers are summed up
// together.
template <class Next>
SR_KERNEL_INLINE void write_sums(const BatchedDot& dots, Next next) {
  const DotEnd end(dots);
  float* out = dots.out;
  const auto write = [&](float total) __attribute__((always_inline)) {
    *out = end(total);
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

// Returns how to access the last register of a row. If kWhole, the row fills this register.
template <bool kWhole>
SR_KERNEL_INLINE auto last_of_row(std::size_t k) {
  if constexpr (kWhole) {
    return Full{};
  } else {
    return Part{k % kWidth};
  }
}

// One pair of rows of kVecs registers. It is a separate function because the one for several pairs first
// saves many registers.
template <std::size_t kVecs, bool kWhole>
[[gnu::flatten]] void short_dot(const BatchedDot& dots) {
  const auto last = last_of_row<kWhole>(dots.k);
  *dots.out = DotEnd(dots)(sum(dot(ShortRow<kVecs>(dots.a, last), ShortRow<kVecs>(dots.b, last))));
}

template <std::size_t kVecs, bool kWhole>
[[gnu::flatten]] void short_batched_dot(const BatchedDot& dots) {
  const auto last = last_of_row<kWhole>(dots.k);
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

// A right side that all rows share stays in registers. Eight are half of those that AVX2 has.
inline constexpr std::size_t kMostVecsOfShortRow = 8;

struct ShortDots {
  // For one pair of rows, and for several. Index i has the kernel for rows of i + 1 registers.
  std::array<BatchedDotKernel, kMostVecsOfShortRow> one{}, several{};
};
template <bool kWhole, std::size_t... vecs>
consteval ShortDots short_dots(std::index_sequence<vecs...>) {
  return {{short_dot<vecs + 1, kWhole>...}, {short_batched_dot<vecs + 1, kWhole>...}};
}

inline BatchedDotKernel batched_dot(std::size_t count, std::size_t k) {
  using Vecs = std::make_index_sequence<kMostVecsOfShortRow>;
  static constexpr ShortDots kWhole = short_dots<true>(Vecs()), kParts = short_dots<false>(Vecs());
  if (k == 0 || k > kMostVecsOfShortRow * kWidth) return long_batched_dot;
  const ShortDots& dots = k % kWidth == 0 ? kWhole : kParts;
  return (count == 1 ? dots.one : dots.several)[(k - 1) / kWidth];
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
