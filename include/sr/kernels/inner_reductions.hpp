// Sums, maxima and softmax of the rows of a matrix. Here `out` may be `in`, row by row.
#pragma once

#include <cstddef>

#include <sr/kernels/math.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// The sum of map(x). Four registers of partial sums: additions overlap, and errors grow with a fraction of n.
template <class Map>
SR_KERNEL_INLINE float sum_block(const float* x, std::size_t n, Map map) {
  Vec first(0.0f), second(0.0f), third(0.0f), fourth(0.0f);
  std::size_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    first = first + map(Vec::load(x + i));
    second = second + map(Vec::load(x + i + kWidth));
    third = third + map(Vec::load(x + i + 2 * kWidth));
    fourth = fourth + map(Vec::load(x + i + 3 * kWidth));
  }
  over_row(n - i, [&](std::size_t at, auto part) { first = first + part.only(map(part.load(x + i + at))); });
  return sum((first + second) + (third + fourth));
}

// Blocks in double, so that the error does not grow with the length.
template <class Map>
SR_KERNEL_INLINE float sum_row(const float* x, std::size_t n, Map map) {
  constexpr std::size_t kBlock = 32 * kWidth;
  if (n <= kBlock) return sum_block(x, n, map);
  double total = 0;
  for (std::size_t i = 0; i < n; i += kBlock) total += sum_block(x + i, n - i < kBlock ? n - i : kBlock, map);
  return static_cast<float>(total);
}

template <class Body>
SR_KERNEL_INLINE void each_row(const RowMatrix& rows, Body body) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    body(rows.in + static_cast<std::ptrdiff_t>(r) * rows.in_stride,
         rows.out + static_cast<std::ptrdiff_t>(r) * rows.out_stride, rows.columns);
  }
}

// The largest map(x), in a register. Four registers of partial maxima; `combine` may be one that NaN gets
// lost in.
template <class Map, class Combine>
SR_KERNEL_INLINE Vec row_max(const float* x, std::size_t n, Map map, Combine combine) {
  Vec first(-kInfinity), second = first, third = first, fourth = first;
  std::size_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    first = combine(first, map(Vec::load(x + i)));
    second = combine(second, map(Vec::load(x + i + kWidth)));
    third = combine(third, map(Vec::load(x + i + 2 * kWidth)));
    fourth = combine(fourth, map(Vec::load(x + i + 3 * kWidth)));
  }
  for (; i + kWidth <= n; i += kWidth) first = combine(first, map(Vec::load(x + i)));
  if (i < n)
    second = combine(second, select(first_lanes(n - i), map(Vec::load(x + i, n - i)), Vec(-kInfinity)));
  return combine(combine(first, second), combine(third, fourth));
}

// NaN if there is one.
template <class Map>
SR_KERNEL_INLINE float largest_of_row(const float* x, std::size_t n, Map map) {
  const Vec largest = row_max(x, n, map, [](Vec a, Vec b) { return maximum(a, b); });
  const float nan = sum(select(is_nan(largest), largest, Vec(0.0f)));
  return nan != nan ? nan : max(largest);
}

// Where there is a NaN it is of no matter what comes out: all of the row will be NaN.
SR_KERNEL_INLINE float row_max(const float* x, std::size_t n) {
  return max(row_max(
      x, n, [](Vec value) { return value; }, [](Vec a, Vec b) { return first_max(a, b); }));
}

template <class Part>
SR_KERNEL_INLINE void softmax_register(const float* in, float* out, Part part) {
  const Vec x = part.load(in, Vec(-kInfinity));
  const Vec powers = part.only(exp(x - max(x)));
  part.store(powers / sum(powers), out);
}

[[gnu::flatten]] inline void softmax_rows(const RowMatrix& rows) {
  each_row(rows, [](const float* in, float* out, std::size_t n) {
    if (n == 0) return;
    if (n == kWidth) return softmax_register(in, out, Full{});
    if (n < kWidth) return softmax_register(in, out, Part{n});
    const Vec largest(row_max(in, n));
    Vec total(0.0f);
    over_row(n, [&](std::size_t i, auto part) {
      const Vec power = exp(part.load(in + i) - largest);
      part.store(power, out + i);
      total = total + part.only(power);
    });
    const Vec divisor(sum(total));
    over_row(n, [&](std::size_t i, auto part) { part.store(part.load(out + i) / divisor, out + i); });
  });
}

[[gnu::flatten]] inline void log_softmax_rows(const RowMatrix& rows) {
  each_row(rows, [](const float* in, float* out, std::size_t n) {
    const Vec largest(row_max(in, n));
    const Vec scale(sum_row(in, n, [&](Vec x) { return exp(x - largest); }));
    const Vec log_scale = log(scale);
    over_row(n,
             [&](std::size_t i, auto part) { part.store(part.load(in + i) - largest - log_scale, out + i); });
  });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
