// Matrix products with a packed and with a plain right-hand side. A packed right-hand side consists of
// panels: the columns of two registers, row after row, and the last panel padded with zeros. Very few columns
// are packed as rows of k elements.
#pragma once

#include <cstddef>
#include <type_traits>

#include <sr/kernels/batched_dot.hpp>
#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/transpose.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

inline constexpr std::size_t kPanel = 2 * kWidth;
inline constexpr std::size_t kDotColumns = 4;

// The number of columns of the panel at `column`. The last panel has half the width if that suffices.
SR_KERNEL_INLINE std::size_t panel_width(std::size_t n, std::size_t column) {
  return n - column <= kWidth ? kWidth : kPanel;
}

inline std::size_t packed_floats(std::size_t n, std::size_t k) {
  return n <= kDotColumns ? n * k : (n + kWidth - 1) / kWidth * kWidth * k;
}

// Writes k rows of `columns` <= width floats, each padded with zeros to `width`.
[[gnu::flatten]] inline void pack_panel(std::size_t columns, std::size_t k, const float* b,
                                        std::ptrdiff_t b_k, std::ptrdiff_t b_n, std::size_t width,
                                        float* to) {
  for (std::size_t l = 0; l < k && b_n == 1; ++l) {
    const float* from = b + static_cast<std::ptrdiff_t>(l) * b_k;
    over_row(columns, [&](std::size_t j, auto part) { part.load(from + j).store(to + l * width + j); });
  }
  if (b_n == 1) return;
  for (std::size_t j = 0; j < columns && b_k == 1; j += kWidth) {
    const std::size_t rows = columns - j < kWidth ? columns - j : kWidth;
    for (std::size_t l = 0; l < k; l += kWidth) {
      transpose_block<true>(b + static_cast<std::ptrdiff_t>(j) * b_n + static_cast<std::ptrdiff_t>(l), b_n,
                            rows, k - l < kWidth ? k - l : kWidth, to + l * width + j,
                            static_cast<std::ptrdiff_t>(width));
    }
  }
  if (b_k == 1) return;
  for (std::size_t l = 0; l < k; ++l) {
    for (std::size_t j = 0; j < width; ++j) {
      to[l * width + j] =
          j < columns ? b[static_cast<std::ptrdiff_t>(l) * b_k + static_cast<std::ptrdiff_t>(j) * b_n] : 0.0f;
    }
  }
}

inline void pack(std::size_t n, std::size_t k, const float* b, std::ptrdiff_t b_k, std::ptrdiff_t b_n,
                 float* packed) {
  if (n <= kDotColumns) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < k; ++l) {
        packed[j * k + l] = b[static_cast<std::ptrdiff_t>(l) * b_k + static_cast<std::ptrdiff_t>(j) * b_n];
      }
    }
    return;
  }
  for (std::size_t column = 0; column < n; column += kPanel) {
    const std::size_t width = panel_width(n, column);
    const std::size_t columns = n - column < width ? n - column : width;
    pack_panel(columns, k, b + static_cast<std::ptrdiff_t>(column) * b_n, b_k, b_n, width,
               packed + column * k);
  }
}

// A panel of smaller weights always has the columns of two registers. Rows of k elements are padded with
// zeros to a whole register.
inline std::size_t padded_row(std::size_t k) {
  return (k + kWidth - 1) / kWidth * kWidth;
}
inline std::size_t packed_small(std::size_t n, std::size_t k) {
  return n <= kDotColumns ? n * padded_row(k) : (n + kPanel - 1) / kPanel * kPanel * k;
}

// The columns of the two registers are interleaved where a register loads pairs and separates them.
template <class T>
void pack_small(std::size_t n, std::size_t k, const T* b, std::ptrdiff_t b_k, std::ptrdiff_t b_n, T* packed) {
  constexpr bool kPairs = std::is_same_v<T, Bfloat16Bits>;
  const auto element = [=](std::size_t l, std::size_t j) {
    return l < k && j < n ? b[static_cast<std::ptrdiff_t>(l) * b_k + static_cast<std::ptrdiff_t>(j) * b_n]
                          : T{0};
  };
  if (n <= kDotColumns) {
    const std::size_t row = padded_row(k);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < row; ++l) packed[j * row + l] = element(l, j);
    }
    return;
  }
  for (std::size_t column = 0; column < n; column += kPanel) {
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = 0; j < kPanel; ++j)
        *packed++ = element(l, column + (kPairs ? j / 2 + j % 2 * kWidth : j));
    }
  }
}

// Multiplies every row of a with every row of b, both of k contiguous elements.
template <class T, class Result>
[[gnu::flatten]] void gemm_of_rows(const GemmOf<T, Result>& product, std::ptrdiff_t b_row) {
  if constexpr (std::is_same_v<T, float>) {
    if (product.n == 1) {
      return batched_dot(
          product.m, product.k)({product.m, product.k, product.a, product.a_row, product.b, 0, product.bias,
                                 product.clamp_min, product.out, product.out_row});
    }
  }
  for (std::size_t i = 0; i < product.m; ++i) {
    const float* a = product.a + static_cast<std::ptrdiff_t>(i) * product.a_row;
    const T* b = product.b;
    const float* bias = product.bias;
    Result* out = product.out + static_cast<std::ptrdiff_t>(i) * product.out_row;
    const auto columns = [&](auto count) __attribute__((always_inline)) {
      float totals[count];
      dot_rows<count>(product.k, a, b, b_row, totals);
      unrolled<count>([&](auto j) {
        const float total = totals[j] + (bias == nullptr ? 0.0f : bias[j]);
        store_result(product.clamp_min > total ? product.clamp_min : total, out + j);
      });
      b += count * b_row;
      out += count;
      if (bias != nullptr) bias += count;
    };
    std::size_t left = product.n;
    for (; left >= 4; left -= 4) columns(Index<4>{});
    if (left == 1) columns(Index<1>{});
    if (left == 2) columns(Index<2>{});
    if (left == 3) columns(Index<3>{});
  }
}

// Multiplies by the panel of `count` <= kPanel columns. kPadded: b is padded with zeros to a whole register.
template <bool kPadded, bool kByPairs = false, class T, class Result>
SR_KERNEL_INLINE void gemm_columns(const GemmOf<T, Result>& product, const Panel<T>& panel,
                                   std::size_t column, std::size_t count) {
  const float* bias = product.bias == nullptr ? nullptr : product.bias + column;
  Result* out = product.out + column;
  if (count == kPanel) return gemm_panel<2, kByPairs>(product, panel, bias, out, Full{}, Full{});
  if (count == kWidth) return gemm_panel<1, kByPairs>(product, panel, bias, out, Full{}, Full{});
  const Part last{count % kWidth};
  if constexpr (kPadded) {
    if (count > kWidth) return gemm_panel<2, kByPairs>(product, panel, bias, out, Full{}, last);
    gemm_panel<1, kByPairs>(product, panel, bias, out, Full{}, last);
  } else {
    if (count > kWidth) return gemm_panel<2, kByPairs>(product, panel, bias, out, last, last);
    gemm_panel<1, kByPairs>(product, panel, bias, out, last, last);
  }
}

// Multiplies by two whole panels.
template <class T, class Result>
SR_KERNEL_INLINE void gemm_two_panels(const GemmOf<T, Result>& product, const Panel<T>& both,
                                      std::size_t column) {
  gemm_panel<4, true>(product, both, product.bias == nullptr ? nullptr : product.bias + column,
                      product.out + column, Full{}, Full{});
}

// One row of the product in the columns of two whole panels, with the sums of gemm_tile. Panels in turn would
// load the elements of `a` twice, and prefetch what the row reads next itself: 1.2 times as slow from the
// second-level cache.
[[gnu::flatten, gnu::noinline]] inline void gemm_row_of_two_panels(std::size_t k, const float* a,
                                                                   const float* b, const float* bias,
                                                                   float clamp_min, float* out) {
  constexpr std::size_t kParts = kSplit<1, 2>, kVecs = 4;
  Vec sums[kParts][kVecs];
  unrolled<kParts>([&](auto part) __attribute__((always_inline)) {
    unrolled<kVecs>([&](auto v) __attribute__((always_inline)) {
      sums[part][v] = part == 0 && bias != nullptr ? Vec::load(bias + v * kWidth) : Vec(0.0f);
    });
  });
  const float* const second = b + k * kPanel;
  const auto step = [&](auto part, std::size_t l) __attribute__((always_inline)) {
    const Vec left(a[l]);
    unrolled<kVecs>([&](auto v) __attribute__((always_inline)) {
      const float* const panel = v < 2 ? b : second;
      sums[part][v] = fma(left, Vec::load(panel + l * kPanel + v % 2 * kWidth), sums[part][v]);
    });
  };
  std::size_t l = 0;
  for (; l + kParts <= k; l += kParts)
    unrolled<kParts>([&](auto part) __attribute__((always_inline)) { step(part, l + part); });
  for (; l < k; ++l) step(Index<0>{}, l);
  unrolled<kVecs>([&](auto v) __attribute__((always_inline)) {
    const Vec total = (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]);
    first_max(Vec(clamp_min), total).store(out + v * kWidth);  // NaN passes
  });
}

// Panels of products with fewer rows are used as soon as they arrive, so that fetching them ahead helps only
// where the processor does not: it fetches packed panels itself, since they follow each other in memory.
inline constexpr std::size_t kRowsToFetch = 4;

// kByPairs: tiles of two panels at a time, for processors that make two multiply-adds of 512 bits a
// cycle (decision 38).
template <class T, class Result, bool kByPairs = false>
void packed_gemm(const GemmOf<T, Result>& product) {
  constexpr bool kOfFloats = std::is_same_v<T, float>;
  if (product.n <= kDotColumns) {
    return gemm_of_rows(product, static_cast<std::ptrdiff_t>(kOfFloats ? product.k : padded_row(product.k)));
  }
  std::size_t column = 0;
  if constexpr (kOfFloats && std::is_same_v<Result, float>) {
    for (; product.m == 1 && column + 2 * kPanel <= product.n; column += 2 * kPanel) {
      gemm_row_of_two_panels(product.k, product.a, product.b + column * product.k,
                             product.bias == nullptr ? nullptr : product.bias + column, product.clamp_min,
                             product.out + column);
    }
  }
  for (; kByPairs && column + 2 * kPanel <= product.n; column += 2 * kPanel) {
    const T* const panel = product.b + column * product.k;
    const bool fetches = product.n - column > 2 * kPanel || product.continues;
    constexpr auto kStride = static_cast<std::ptrdiff_t>(kPanel);
    gemm_two_panels(product,
                    Panel<T>{panel, kStride, product.k, false, product.clamp_min,
                             fetches ? panel + 2 * kPanel * product.k : panel,
                             static_cast<std::ptrdiff_t>(product.k) * kStride},
                    column);
  }
  for (; column < product.n; column += kPanel) {
    const std::size_t width = kOfFloats ? panel_width(product.n, column) : kPanel;
    const std::size_t left = product.n - column;
    const T* panel = product.b + column * product.k;
    const bool fetches = product.m >= kRowsToFetch && (left > width || product.continues);
    const T* next = fetches ? panel + width * product.k : panel;
    gemm_columns<true, kByPairs>(
        product, {panel, static_cast<std::ptrdiff_t>(width), product.k, false, product.clamp_min, next},
        column, left < width ? left : width);
  }
}

// Packs one panel after the other on the stack, or one pair of them, some rows at a time, which pays if a has
// many rows.
template <bool kByPairs>
void gemm_by_packing(const Gemm& product) {
  constexpr std::size_t kBlock = 128, kPair = 2 * kPanel;
  alignas(64) float packed[kBlock * (kByPairs ? kPair : kPanel)];
  for (std::size_t column = 0; column < product.n;) {
    const bool is_pair = kByPairs && product.n - column >= kPair;
    const std::size_t width = panel_width(product.n, column), left = product.n - column;
    const std::size_t columns = is_pair ? kPair : left < width ? left : width;
    Gemm part = product;
    for (std::size_t l = 0; l < product.k; l += kBlock) {
      part.k = product.k - l < kBlock ? product.k - l : kBlock;
      part.a = product.a + l;
      const auto pack = [&](std::size_t first, std::size_t count) __attribute__((always_inline)) {
        pack_panel(count, part.k,
                   product.b + static_cast<std::ptrdiff_t>(l) * product.b_k +
                       static_cast<std::ptrdiff_t>(first) * product.b_n,
                   product.b_k, product.b_n, width, packed + (first - column) * part.k);
      };
      pack(column, columns < width ? columns : width);
      if (is_pair) pack(column + kPanel, kPanel);
      const bool ends = l + part.k == product.k;
      const Panel<float> panel{packed,
                               static_cast<std::ptrdiff_t>(width),
                               part.k,
                               l != 0,
                               ends ? product.clamp_min : -kInfinity,
                               packed,
                               static_cast<std::ptrdiff_t>(width * part.k)};
      if (is_pair) {
        gemm_two_panels(part, panel, column);
      } else {
        gemm_columns<true, kByPairs>(part, panel, column, columns);
      }
    }
    column += columns;
  }
}

// Multiplies by the elements of b where they lie: rows of n contiguous elements, of which a panel is a part.
// The rows of a panel are far apart, so that the processor does not fetch the next panel by itself. When a
// has few rows and b is large, the product takes a block of rows of b at a time, so that the TLB still has
// their pages when it multiplies the next panel.
template <bool kByPairs>
void gemm_by_rows(const Gemm& product) {
  constexpr std::size_t kBlock = 128, kLarge = 1 << 18;  // rows of b, elements of b
  const bool in_blocks = product.m < kRowsToFetch && product.k * product.n >= kLarge;
  // A single tile of rows fetches whole rows of the next panel. Several tiles would share the bytes between
  // the rows, too.
  const bool fetches = product.m <= kTileRows && (in_blocks || product.m >= kRowsToFetch);
  const std::size_t block = in_blocks ? kBlock : product.k;
  Gemm part = product;
  std::size_t l = 0;
  do {
    part.k = product.k - l < block ? product.k - l : block;
    part.a = product.a + l;
    const float* const rows = product.b + static_cast<std::ptrdiff_t>(l) * product.b_k;
    const float clamp_min = l + part.k == product.k ? product.clamp_min : -kInfinity;
    std::size_t column = 0;
    for (; kByPairs && product.k != 0 && column + 2 * kPanel <= product.n; column += 2 * kPanel) {
      const float* const panel = rows + column;
      const bool fetches_next = fetches && product.n - column > 2 * kPanel;
      gemm_two_panels(
          part,
          Panel<float>{panel, product.b_k, part.k, l != 0, clamp_min,
                       fetches_next ? panel + 2 * kPanel : panel, static_cast<std::ptrdiff_t>(kPanel)},
          column);
    }
    for (; column < product.n; column += kPanel) {
      const std::size_t left = product.n - column;
      const float* const panel = product.k == 0 ? nullptr : rows + column;
      gemm_columns<false, kByPairs>(
          part,
          {panel, product.b_k, part.k, l != 0, clamp_min, fetches && left > kPanel ? panel + kPanel : panel},
          column, left < kPanel ? left : kPanel);
    }
    l += part.k;
  } while (l < product.k);
}

template <bool kByPairs>
void gemm(const Gemm& product) {
  // The least numbers of rows of a for which it pays to pack a transposed b, and a b whose rows end within a
  // register.
  constexpr std::size_t kManyTransposed = 8, kManyRagged = 24;
  if (product.m == 0) return;
  const bool by_rows = product.n > 1 && product.b_n == 1;
  const bool ragged = product.n % kWidth != 0 && product.n > kPanel;
  if (product.k == 0 || (by_rows && !(ragged && product.m >= kManyRagged))) {
    gemm_by_rows<kByPairs>(product);
  } else if (product.b_k == 1 && !by_rows && (product.n <= kDotColumns || product.m < kManyTransposed)) {
    gemm_of_rows(product, product.b_n);
  } else {
    gemm_by_packing<kByPairs>(product);
  }
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
