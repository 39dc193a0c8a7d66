// Layer, group and root mean square normalisation of the rows of a matrix. A row of `out` may be the same row
// of `in`.
#pragma once

#include <cstddef>

#include <sr/kernels/inner_reductions.hpp>
#include <sr/kernels/normal_rows.hpp>
#include <sr/kernels/table.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// kRows rows from `row` on, and their statistics. Holds copies: members behind a reference would be read
// again after each store.
template <std::size_t kRows>
struct NormalRows {
  std::size_t first, columns;
  const float* in_first;
  std::ptrdiff_t in_stride;
  float* out_first;
  std::ptrdiff_t out_stride;
  Vec mean[kRows], scale[kRows];

  SR_KERNEL_INLINE NormalRows(const RowMatrix& rows, std::size_t row)
      : first(row),
        columns(rows.columns),
        in_first(rows.in + static_cast<std::ptrdiff_t>(row) * rows.in_stride),
        in_stride(rows.in_stride),
        out_first(rows.out + static_cast<std::ptrdiff_t>(row) * rows.out_stride),
        out_stride(rows.out_stride) {}
  SR_KERNEL_INLINE const float* in(std::size_t r) const {
    return in_first + static_cast<std::ptrdiff_t>(r) * in_stride;
  }
  SR_KERNEL_INLINE float* out(std::size_t r) const {
    return out_first + static_cast<std::ptrdiff_t>(r) * out_stride;
  }
  template <class Part>
  SR_KERNEL_INLINE Vec load(std::size_t r, std::size_t i, Part part) const {
    return (part.load(in(r) + i) - mean[r]) * scale[r];
  }
};

// Normalising a row waits for its sum, which for a row of a few hundred columns takes less time than the
// latency of its last additions. With several rows at a time the latencies overlap.
inline constexpr std::size_t kNormalColumns = 1024;  // rows a page apart get in the way of each other

// The sums of map(r, x) over four rows. Each has two registers of partial sums, in blocks to keep the error
// small.
template <class Map>
SR_KERNEL_INLINE Quad sum_rows_of(const NormalRows<kNormalRows>& rows, Map map) {
  constexpr std::size_t kBlock = 32 * kWidth;
  const std::size_t n = rows.columns;
  Quad total{};
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    Vec first[kNormalRows], second[kNormalRows];
    const auto each = [&](auto body) __attribute__((always_inline)) {
      unrolled<kNormalRows>(body);
    };
    each([&](auto r) __attribute__((always_inline)) { first[r] = second[r] = Vec(0.0f); });
    const std::size_t end = n - begin < kBlock ? n : begin + kBlock;
    std::size_t i = begin;
    for (; i + 2 * kWidth <= end; i += 2 * kWidth) {
      each([&](auto r) __attribute__((always_inline)) {
        first[r] = first[r] + map(r, Vec::load(rows.in(r) + i));
        second[r] = second[r] + map(r, Vec::load(rows.in(r) + i + kWidth));
      });
    }
    over_row(end - i, [&](std::size_t at, auto part) {
      each([&](auto r) __attribute__((always_inline)) {
        first[r] = first[r] + part.only(map(r, part.load(rows.in(r) + i + at)));
      });
    });
    each([&](auto r) __attribute__((always_inline)) { first[r] = first[r] + second[r]; });
    total = total + sums(first[0], first[1], first[2], first[3]);
  }
  return total;
}
template <class Map>
SR_KERNEL_INLINE float sum_rows_of(const NormalRows<1>& rows, Map map) {
  return sum_row(rows.in(0), rows.columns, [&](Vec x) { return map(std::size_t{0}, x); });
}

SR_KERNEL_INLINE float lane(float value, std::size_t) {
  return value;
}
SR_KERNEL_INLINE float lane(Quad values, std::size_t r) {
  return values[r];
}

template <bool kCentred, std::size_t kRows>
SR_KERNEL_INLINE void find_statistics(NormalRows<kRows>& rows, float epsilon) {
  const auto each = [&](auto body) __attribute__((always_inline)) {
    unrolled<kRows>(body);
  };
  const float count = static_cast<float>(rows.columns);
  // Computed on differences from one element: in a row of equal elements a rounding error would be multiplied
  // by a large scale.
  each([&](auto r) __attribute__((always_inline)) { rows.mean[r] = Vec(kCentred ? rows.in(r)[0] : 0.0f); });
  const auto distance = [&](auto r, Vec x) __attribute__((always_inline)) {
    return x - rows.mean[r];
  };
  if constexpr (kCentred) {
    const auto means = sum_rows_of(rows, distance) / count;
    each([&](auto r) __attribute__((always_inline)) { rows.mean[r] = Vec(rows.in(r)[0] + lane(means, r)); });
  }
  const auto squares = sum_rows_of(
      rows, [&](auto r, Vec x) __attribute__((always_inline)) {
        const Vec far = distance(r, x);
        return far * far;
      });
  const auto variances = squares / count + epsilon;
  each([&](auto r) __attribute__((always_inline)) {
    rows.scale[r] = Vec(1.0f / __builtin_sqrtf(lane(variances, r)));
  });
}

// `finish` writes rows with the statistics that it is given.
template <bool kCentred, class Finish>
SR_KERNEL_INLINE void normalize_rows(const RowMatrix& rows, float epsilon, Finish finish) {
  if (rows.columns == 0) return;
  std::size_t r = 0;
  const auto next = [&](auto some) __attribute__((always_inline)) {
    find_statistics<kCentred>(some, epsilon);
    finish(some);
  };
  if (rows.columns < kNormalColumns) {
    for (; r + kNormalRows <= rows.rows; r += kNormalRows) next(NormalRows<kNormalRows>(rows, r));
  }
  for (; r < rows.rows; ++r) next(NormalRows<1>(rows, r));
}

// Each column has its own gamma and beta.
template <std::size_t kRows>
SR_KERNEL_INLINE void finish_columns(const NormalRows<kRows>& rows, const float* gamma, const float* beta) {
  over_row(rows.columns, [&](std::size_t i, auto part) {
    const Vec scale = gamma != nullptr ? part.load(gamma + i) : Vec(1.0f);
    const Vec shift = beta != nullptr ? part.load(beta + i) : Vec(0.0f);
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      part.store(fma(rows.load(r, i, part), scale, shift), rows.out(r) + i);
    });
  });
}

[[gnu::flatten]] inline void layer_norm_rows(const RowMatrix& rows, const float* gamma, const float* beta,
                                             float epsilon) {
  normalize_rows<true>(rows, epsilon, [&](const auto& some) { finish_columns(some, gamma, beta); });
}

[[gnu::flatten]] inline void rms_norm_rows(const RowMatrix& rows, const float* gamma, float epsilon) {
  normalize_rows<false>(rows, epsilon, [&](const auto& some) { finish_columns(some, gamma, nullptr); });
}

// The rows are the groups of one image after the other, with `channels` channels each.
[[gnu::flatten]] inline void group_norm_rows(const RowMatrix& rows, std::size_t groups, std::size_t channels,
                                             const float* gamma, const float* beta, float epsilon) {
  const std::size_t plane = rows.columns / channels;
  normalize_rows<true>(rows, epsilon, [&]<std::size_t kRows>(const NormalRows<kRows>& some) {
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const std::size_t first = (some.first + r) % groups * channels;
      if (plane == 1) {
        return over_row(channels, [&](std::size_t i, auto part) {
          const Vec scale = gamma != nullptr ? part.load(gamma + first + i) : Vec(1.0f);
          const Vec shift = beta != nullptr ? part.load(beta + first + i) : Vec(0.0f);
          part.store(fma(some.load(r, i, part), scale, shift), some.out(r) + i);
        });
      }
      for (std::size_t c = 0; c < channels; ++c) {
        const Vec scale(gamma != nullptr ? gamma[first + c] : 1.0f);
        const Vec shift(beta != nullptr ? beta[first + c] : 0.0f);
        over_row(plane, [&](std::size_t i, auto part) {
          const std::size_t at = c * plane + i;
          part.store(fma(some.load(r, at, part), scale, shift), some.out(r) + at);
        });
      }
    });
  });
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
