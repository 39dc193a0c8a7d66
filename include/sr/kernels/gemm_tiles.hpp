// The inner loops of matrix products: tiles of the result in registers, and dot products.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <sr/kernels/bfloat16.hpp>
#include <sr/kernels/float16.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Columns of b, some registers wide, that lie `stride` apart from one l to the next.
template <class T>
struct Panel {
  const T* b;
  std::ptrdiff_t stride;
  std::size_t k;
  bool resume;                // of floats: adds to what `out` holds already, instead of to the bias
  float clamp_min;            // the least result
  const T* ahead;             // the panel that is multiplied next, fetched meanwhile; the last one has itself
  std::ptrdiff_t second = 0;  // elements from one panel of two to the other
};

inline constexpr std::size_t kLine = 64;  // bytes of a cache line

// The part of the next panel that a tile prefetches into the second-level cache. The tile prefetches one
// address for each l, and also the cache lines behind it if a row of the panel has more than one. The part is
// as large in the panel as the tile is among the rows of the product.
struct Ahead {
  const char* begin;
  std::ptrdiff_t step;
};

// A multiply-add takes 4 cycles until the next one can use its result. Where a tile has too few sums to
// bridge that, each is `kSplit` sums over a part of l.
template <std::size_t kRows, std::size_t kVecs>
inline constexpr std::size_t kSplit = kRows* kVecs >= 8   ? 1
                                      : kRows* kVecs >= 4 ? 2
                                                          : 4;

// Loads one row of a panel's columns, widened to fp32. `right` loads the last register of floats. A panel of
// bfloat16 interleaves the columns of its two registers; panels of other types have their columns in order.
// Four registers are those of two panels, `second` elements apart.
template <std::size_t kVecs, class Right>
SR_KERNEL_INLINE void load_columns(const float* b, std::ptrdiff_t second, Right right,
                                   Vec (&columns)[kVecs]) {
  if constexpr (kVecs == 4) {
    unrolled<4>([&](auto v) { columns[v] = Vec::load(b + (v < 2 ? 0 : second) + v % 2 * kWidth); });
  } else {
    unrolled<kVecs - 1>([&](auto v) { columns[v] = Vec::load(b + v * kWidth); });
    columns[kVecs - 1] = right.load(b + (kVecs - 1) * kWidth);
  }
}
template <std::size_t kVecs, class Right>
SR_KERNEL_INLINE void load_columns(const Bfloat16Bits* b, std::ptrdiff_t second, Right,
                                   Vec (&columns)[kVecs]) {
  unrolled<(kVecs + 1) / 2>([&](auto panel) {
    const TwoVecs both = load_widened_pairs(b + static_cast<std::ptrdiff_t>(std::size_t{panel}) * second);
    columns[2 * panel] = both.first;
    if constexpr (kVecs != 1) columns[2 * panel + 1] = both.second;
  });
}
template <std::size_t kVecs, class T, class Right>
SR_KERNEL_INLINE void load_columns(const T* b, std::ptrdiff_t second, Right, Vec (&columns)[kVecs]) {
  unrolled<kVecs>([&](auto v) { columns[v] = load_widened(b + (v < 2 ? 0 : second) + v % 2 * kWidth); });
}

// Some of a row of weights; a row of smaller ones goes on to the register's end.
template <class Access>
SR_KERNEL_INLINE Vec load_row(const float* b, Access access) {
  return access.load(b);
}
template <class T, class Access>
SR_KERNEL_INLINE Vec load_row(const T* b, Access) {
  return load_widened(b);
}

template <class Last>
SR_KERNEL_INLINE void store_result(Vec result, float* to, Last last) {
  last.store(result, to);
}
template <class T, class Last>
SR_KERNEL_INLINE void store_result(Vec result, T* to, Last last) {
  store_rounded(result, to, last);
}
SR_KERNEL_INLINE void store_result(float result, float* to) {
  *to = result;
}
template <class T>
SR_KERNEL_INLINE void store_result(float result, T* to) {
  round_to(result, *to);
}

// kRows x (kVecs registers) of the result. `right` reads the last register of a row of b, `last` that of the
// bias and of the result. The lambdas are always_inline so that the sums stay in registers: the compiler
// inlines other lambdas only after it has decided which arrays live on the stack.
template <std::size_t kRows, std::size_t kVecs, std::size_t kParts, class T, class Result, class Right,
          class Last>
[[gnu::flatten, gnu::noinline]] void gemm_tile(const Panel<T>& panel, const float* a, std::ptrdiff_t a_row,
                                               const float* bias, Result* out, std::ptrdiff_t out_row,
                                               const Ahead& fetch, Right right, Last last) {
  Vec sums[kParts][kRows][kVecs];
  unrolled<kParts>([&](auto part) __attribute__((always_inline)) {
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      unrolled<kVecs>([&](auto v) __attribute__((always_inline)) { sums[part][r][v] = Vec(0.0f); });
    });
  });
  const float* from = bias;
  std::ptrdiff_t from_row = 0;
  if constexpr (std::is_same_v<T, float>) {
    if (panel.resume) {
      from = out;
      from_row = out_row;
    }
  }
  if (from != nullptr) {
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const float* row = from + static_cast<std::ptrdiff_t>(r) * from_row;
      unrolled<kVecs - 1>([&](auto v) __attribute__((always_inline)) {
        sums[0][r][v] = Vec::load(row + v * kWidth);
      });
      sums[0][r][kVecs - 1] = last.load(row + (kVecs - 1) * kWidth);
    });
  }
  const T* b = panel.b;
  const char* ahead = fetch.begin;
  const auto step = [&](auto part, std::size_t l) __attribute__((always_inline)) {
    Vec columns[kVecs];
    load_columns<kVecs>(b, panel.second, right, columns);
    b += panel.stride;
    unrolled<(kVecs * kWidth * sizeof(T) + kLine - 1) / kLine>(
        [&](auto line) { __builtin_prefetch(ahead + line * kLine, 0, 2); });
    ahead += fetch.step;
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const Vec left(a[static_cast<std::ptrdiff_t>(r) * a_row + static_cast<std::ptrdiff_t>(l)]);
      unrolled<kVecs>([&](auto v) __attribute__((always_inline)) {
        sums[part][r][v] = fma(left, columns[v], sums[part][r][v]);
      });
    });
  };
  std::size_t l = 0;
  for (; l + kParts <= panel.k; l += kParts)
    unrolled<kParts>([&](auto part) __attribute__((always_inline)) { step(part, l + part); });
  if constexpr (kParts != 1) {
    for (; l < panel.k; ++l) step(Index<0>{}, l);
  }
  unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
    Result* row = out + static_cast<std::ptrdiff_t>(r) * out_row;
    unrolled<kVecs>([&](auto v) __attribute__((always_inline)) {
      Vec total = sums[0][r][v];
      if constexpr (kParts == 2) total = total + sums[1][r][v];
      if constexpr (kParts == 4) total = (total + sums[1][r][v]) + (sums[2][r][v] + sums[3][r][v]);
      total = first_max(Vec(panel.clamp_min), total);  // NaN passes
      if constexpr (v == kVecs - 1) {
        store_result(total, row + v * kWidth, last);
      } else {
        store_result(total, row + v * kWidth, Full{});
      }
    });
  });
}

// Rows of the result at a time: as many sums, two registers wide, as there are registers for, less those for
// a row of b and an element of a.
#if defined(SR_KERNEL_AVX512)
inline constexpr std::size_t kTileRows = 8;
#elif defined(SR_KERNEL_AVX2)
inline constexpr std::size_t kTileRows = 6;
#else
inline constexpr std::size_t kTileRows = 4;
#endif

// The most rows of a tile that is kVecs registers wide. A tile of four registers spans two panels. It needs
// 10 loads for 24 multiply-adds; a tile of two registers needs 10 loads for 16. Processors that start two
// 512-bit multiply-adds in a cycle are limited by the loads of the narrower tile.
template <std::size_t kVecs>
inline constexpr std::size_t kTileRowsOf = kVecs == 4 ? 6 : kTileRows;

// body(first, Index<count>) for one tile of at most kMost rows after the other.
template <std::size_t kMost = kTileRows, class Body>
SR_KERNEL_INLINE void by_row_tiles(std::size_t rows, Body body) {
  std::size_t first = 0;
  for (; first + kMost <= rows; first += kMost) body(first, Index<kMost>{});
  unrolled<kMost - 1>([&](auto r) {
    if (rows - first == r + 1) body(first, Index<r + 1>{});
  });
}

// Calls body(first, Index<count>) for tiles of at most kMost rows whose sizes differ by at most one. A small
// last tile would have too few independent sums to hide the latency of a multiply-add.
template <std::size_t kMost, class Body>
SR_KERNEL_INLINE void by_even_tiles(std::size_t rows, Body body) {
  const std::size_t tiles = (rows + kMost - 1) / kMost;
  if (tiles == 0) return;
  const std::size_t least = rows / tiles, larger = rows % tiles * (least + 1);
  unrolled<kMost>([&](auto r) __attribute__((always_inline)) {
    constexpr std::size_t kLeast = r + 1, kLarger = kLeast < kMost ? kLeast + 1 : kMost;
    if (least != kLeast) return;
    for (std::size_t first = 0; first < larger; first += kLarger) body(first, Index<kLarger>{});
    for (std::size_t first = larger; first < rows; first += kLeast) body(first, Index<kLeast>{});
  });
}

// All rows of the result in the columns of one panel, or of two if kVecs is 4, which begin at bias and out.
// kByPairs: threads may cut the product between the panels of a pair, and its rows where they like. Therefore
// each sum is one over all l then, in tiles of one panel and of two, unless the product has a single row.
template <std::size_t kVecs, bool kByPairs, class T, class Result, class Right, class Last>
SR_KERNEL_INLINE void gemm_panel(const GemmOf<T, Result>& product, const Panel<T>& panel, const float* bias,
                                 Result* out, Right right, Last last) {
  const bool fetches = panel.ahead != panel.b;
  constexpr std::ptrdiff_t kUnit = 1 << 16;
  // The number of bytes to prefetch for each l and each row of the product, as a multiple of 1 / kUnit. It is
  // computed once for a panel because that takes a division.
  constexpr std::ptrdiff_t kRowBytes = static_cast<std::ptrdiff_t>(sizeof(T)) * (kVecs == 4 ? 2 : 1);
  const std::ptrdiff_t share =
      fetches ? panel.stride * kRowBytes * kUnit / static_cast<std::ptrdiff_t>(product.m) : 0;
  const char* const ahead = reinterpret_cast<const char*>(fetches ? panel.ahead : panel.b);
  const auto tile = [&](std::size_t first, auto count, auto parts) __attribute__((always_inline)) {
    const auto row = static_cast<std::ptrdiff_t>(first);
    const Ahead fetch{ahead + static_cast<std::ptrdiff_t>(panel.k) * row * share / kUnit,
                      (share * static_cast<std::ptrdiff_t>(std::size_t{count}) + kUnit - 1) / kUnit};
    gemm_tile<count, kVecs, parts>(panel, product.a + row * product.a_row, product.a_row, bias,
                                   out + row * product.out_row, product.out_row, fetch, right, last);
  };
  if constexpr (kByPairs && kVecs != 1) {
    if (product.m == 1) return tile(std::size_t{0}, Index<1>{}, Index<kSplit<1, 2>>{});
    by_even_tiles<kTileRowsOf<kVecs>>(
        product.m, [&](std::size_t first, auto count)
                       __attribute__((always_inline)) { tile(first, count, Index<1>{}); });
  } else {
    by_row_tiles<kTileRows>(
        product.m, [&](std::size_t first, auto count)
                       __attribute__((always_inline)) { tile(first, count, Index<kSplit<count, kVecs>>{}); });
  }
}

// result[j] = sum over l of a[l] * b[j * b_row + l], for kCount rows of b.
template <std::size_t kCount, class T>
SR_KERNEL_INLINE void dot_rows(std::size_t k, const float* a, const T* b, std::ptrdiff_t b_row,
                               float* result) {
  constexpr std::size_t kParts = kCount == 1 ? 4 : 2;
  Vec totals[kParts][kCount];
  unrolled<kParts>([&](auto part) { unrolled<kCount>([&](auto j) { totals[part][j] = Vec(0.0f); }); });
  const auto step = [&](auto part, std::size_t l, auto access) __attribute__((always_inline)) {
    const Vec left = access.load(a + l);
    unrolled<kCount>([&](auto j) {
      const Vec right =
          load_row(b + static_cast<std::ptrdiff_t>(j) * b_row + static_cast<std::ptrdiff_t>(l), access);
      totals[part][j] = fma(left, right, totals[part][j]);
    });
  };
  std::size_t l = 0;
  for (; l + kParts * kWidth <= k; l += kParts * kWidth) {
    unrolled<kParts>([&](auto part) { step(part, l + part * kWidth, Full{}); });
  }
  for (; l + kWidth <= k; l += kWidth) step(Index<0>{}, l, Full{});
  if (l < k) step(Index<1>{}, l, Part{k - l});
  unrolled<kCount>([&](auto j) {
    if constexpr (kParts == 4)
      totals[0][j] = totals[0][j] + totals[2][j], totals[1][j] = totals[1][j] + totals[3][j];
    totals[0][j] = totals[0][j] + totals[1][j];
  });
  if constexpr (kCount == 4) {
    const Quad four = sums(totals[0][0], totals[0][1], totals[0][2], totals[0][3]);
    std::memcpy(result, &four, sizeof(four));
  } else {
    unrolled<kCount>([&](auto j) { result[j] = sum(totals[0][j]); });
  }
}

// The sum of a[l] * b[l] for l < k, spread over a register; k is 0 or at least the width.
SR_KERNEL_INLINE Vec dot(std::size_t k, const float* a, const float* b) {
  Vec totals[4] = {Vec(0.0f), Vec(0.0f), Vec(0.0f), Vec(0.0f)};
  std::size_t l = 0;
  for (; l + 4 * kWidth <= k; l += 4 * kWidth) {
    unrolled<4>([&](auto part) {
      const std::size_t at = l + part * kWidth;
      totals[part] = fma(Vec::load(a + at), Vec::load(b + at), totals[part]);
    });
  }
  for (; l + kWidth <= k; l += kWidth) totals[0] = fma(Vec::load(a + l), Vec::load(b + l), totals[0]);
  if (l < k) {  // the last whole register, without what was counted already
    const Mask counted = first_lanes(kWidth - (k - l));
    const Vec left = select(counted, Vec(0.0f), Vec::load(a + k - kWidth));
    totals[1] = fma(left, select(counted, Vec(0.0f), Vec::load(b + k - kWidth)), totals[1]);
  }
  return (totals[0] + totals[2]) + (totals[1] + totals[3]);
}

// A row of few registers, the last of which `last` loads.
template <std::size_t kVecs>
struct ShortRow {
  Vec parts[kVecs];

  template <class Last>
  SR_KERNEL_INLINE ShortRow(const float* row, Last last) {
    unrolled<kVecs - 1>([&](auto v) { parts[v] = Vec::load(row + v * kWidth); });
    parts[kVecs - 1] = last.load(row + (kVecs - 1) * kWidth);
  }

  SR_KERNEL_INLINE friend Vec dot(const ShortRow& a, const ShortRow& b) {
    // The sums of the two halves of longer rows: an addition waits for the one before.
    constexpr std::size_t kHalf = kVecs < 4 ? kVecs : kVecs / 2;
    Vec total = a.parts[0] * b.parts[0];
    unrolled<kHalf - 1>([&](auto v) { total = fma(a.parts[v + 1], b.parts[v + 1], total); });
    if constexpr (kHalf < kVecs) {
      Vec rest = a.parts[kHalf] * b.parts[kHalf];
      unrolled<kVecs - kHalf - 1>(
          [&](auto v) { rest = fma(a.parts[kHalf + v + 1], b.parts[kHalf + v + 1], rest); });
      total = total + rest;
    }
    return total;
  }
};

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
