// Products of pairs of rows, one number each.
#pragma once

#include <cstddef>

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

template <std::size_t kVecs, class Last>
[[gnu::flatten]] void short_batched_dot(const BatchedDot& dots, Last last) {
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

inline void batched_dot(const BatchedDot& dots) {
  const auto with = [&](auto last) __attribute__((always_inline)) {
    switch ((dots.k - 1) / kWidth) {
      case 0:
        return short_batched_dot<1>(dots, last);
      case 1:
        return short_batched_dot<2>(dots, last);
      case 2:
        return short_batched_dot<3>(dots, last);
      default:
        return short_batched_dot<4>(dots, last);
    }
  };
  if (dots.k == 0 || dots.k > 4 * kWidth) return long_batched_dot(dots);
  if (dots.k % kWidth == 0) return with(Full{});
  with(Part{dots.k % kWidth});
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
