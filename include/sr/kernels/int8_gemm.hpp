// Matrix products of 8-bit integers. Sums have 32 bits and do not saturate, so every instruction set gives
// the same results. The packed right side keeps four elements of k next to each other, because an instruction
// adds four products in each lane. It holds each weight plus 128 as an unsigned byte, because the instruction
// multiplies unsigned bytes by signed ones. Therefore 128 times the sum of the row is subtracted from each
// result. An unsigned left side is read as signed, minus 128, and 128 times the sum of the column is added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sr/kernels/gemm.hpp>
#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/int8_dots.hpp>
#include <sr/kernels/int8_rows.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// Rows that are computed together. Registers hold the sums, the columns and a group of a row.
#if defined(SR_KERNEL_AVX512)
inline constexpr std::size_t kInt8Rows = 8;
#else
inline constexpr std::size_t kInt8Rows = 4;
#endif

// Rows and columns of a tile in the operands.
struct Int8Tile {
  const std::uint8_t* b;            // the panel, or the first of two
  const std::int32_t* row_sums;     // of the left side as it is multiplied
  const std::uint8_t* column_sums;  // of the panel
  std::size_t row, column;          // in the result
};

template <std::size_t kVecs, class Last>
SR_KERNEL_INLINE void store_int8_results(const Int8Gemm& product, const Int8Tile& tile, std::size_t row,
                                         Last last, const Ints (&totals)[kVecs]) {
  const auto offset =
      static_cast<std::ptrdiff_t>(row) * product.out_row + static_cast<std::ptrdiff_t>(tile.column);
  unrolled<kVecs>([&](auto v) {
    constexpr std::size_t at = v * kWidth;
    const auto each = [&](auto access) __attribute__((always_inline)) {
      if (product.sums != nullptr)
        return access.store(from_bits(totals[v]), reinterpret_cast<float*>(product.sums + offset) + at);
      Vec result = to_floats(totals[v]);
      if (product.row_factor != nullptr)
        result =
            result * Vec(product.row_factor[static_cast<std::ptrdiff_t>(row) * product.row_factor_stride]);
      if (product.column_factor != nullptr)
        result = result * access.load(product.column_factor + tile.column + at);
      if (product.bias != nullptr) result = result + access.load(product.bias + tile.column + at);
      access.store(first_max(Vec(product.clamp_min), result), product.out + offset + at);  // NaN passes
    };
    if constexpr (v + 1 == kVecs) {
      each(last);
    } else {
      each(Full{});
    }
  });
}

// Makes results of the sums of row `r` of a tile. kMoved: its bytes were multiplied as signed, minus 128.
template <std::size_t kVecs, bool kMoved, class Last>
SR_KERNEL_INLINE void finish_int8_row(const Int8Gemm& product, const Int8Tile& tile, std::size_t r, Last last,
                                      Ints (&totals)[kVecs]) {
  unrolled<kVecs>([&](auto v) {
    Ints total = totals[v] - (Ints(tile.row_sums[r]) << 7);
    const std::uint8_t* const column_sums = tile.column_sums + v * kWidth * sizeof(std::int32_t);
    if constexpr (kMoved) total = total + (load_ints(column_sums) << 7);
    if (product.zero != nullptr) {
      const auto row = static_cast<std::ptrdiff_t>(tile.row + r);
      const Ints zero(static_cast<std::int32_t>(product.zero[row * product.zero_stride]));
      total = total - Ints(zero.lanes * load_ints(column_sums).lanes);
    }
    totals[v] = total;
  });
  store_int8_results<kVecs>(product, tile, tile.row + r, last, totals);
}

template <std::size_t kRows, std::size_t kVecs, class Left, class Last>
[[gnu::flatten, gnu::noinline]] void int8_tile(const Int8Gemm& product, const Left& left,
                                               const Int8Tile& tile, Last last) {
  using Dot = typename Left::Dot;
  constexpr std::size_t kParts = kSplit<kRows, kVecs>;
  Ints sums[kParts][kRows][kVecs];
  unrolled<kParts>([&](auto part) {
    unrolled<kRows>([&](auto r) { unrolled<kVecs>([&](auto v) { sums[part][r][v] = Ints(0); }); });
  });
  const std::uint8_t* b = tile.b;
  constexpr std::size_t kRegister = kWidth * kInGroup, kPanelRow = (kVecs == 4 ? 2 : kVecs) * kRegister;
  const std::size_t second = int8_groups(product.k) * kPanelRow;
  const auto step = [&](auto part, auto of_row) __attribute__((always_inline)) {
    Dot columns[kVecs];
    unrolled<kVecs>(
        [&](auto v) { columns[v] = Dot::right(load_ints(b + (v < 2 ? 0 : second) + v % 2 * kRegister)); });
    b += kPanelRow;
    unrolled<kRows>([&](auto r) {
      const Dot group = of_row(r);
      unrolled<kVecs>([&](auto v) { sums[part][r][v] = Dot::add(sums[part][r][v], group, columns[v]); });
    });
  };
  const std::size_t groups = left.groups();
  std::size_t g = 0;
  for (; g + kParts <= groups; g += kParts) {
    unrolled<kParts>([&](auto part) {
      step(
          part, [&](auto r) __attribute__((always_inline)) { return left.group(r, g + part); });
    });
  }
  for (; g < groups; ++g)
    step(
        Index<0>{}, [&](auto r) __attribute__((always_inline)) { return left.group(r, g); });
  if (left.has_rest())
    step(
        Index<0>{}, [&](auto r) __attribute__((always_inline)) { return left.rest(r); });
  unrolled<kRows>([&](auto r) {
    Ints totals[kVecs];
    unrolled<kVecs>([&](auto v) {
      Ints total = sums[0][r][v];
      if constexpr (kParts == 2) total = total + sums[1][r][v];
      if constexpr (kParts == 4) total = (total + sums[1][r][v]) + (sums[2][r][v] + sums[3][r][v]);
      totals[v] = total;
    });
    finish_int8_row<kVecs, Left::kMoved>(product, tile, r, last, totals);
  });
}

template <std::size_t kRows, class Left>
SR_KERNEL_INLINE void int8_columns_of(const Int8Gemm& product, const Left& left, const Int8Tile& tile,
                                      std::size_t columns) {
  if (columns == kPanel) return int8_tile<kRows, 2>(product, left, tile, Full{});
  if (columns == kWidth) return int8_tile<kRows, 1>(product, left, tile, Full{});
  const Part last{columns % kWidth};
  if (columns > kWidth) return int8_tile<kRows, 2>(product, left, tile, last);
  int8_tile<kRows, 1>(product, left, tile, last);
}

// Computes `rows` rows of the result, from row `first` on. `left` holds the same rows of the left side.
// kByPairs: see packed_gemm.
template <bool kByPairs, class Left>
void int8_rows(const Int8Gemm& product, const Left& left, const std::int32_t* row_sums, std::size_t first,
               std::size_t rows) {
  const std::size_t row_bytes = int8_groups(product.k) * kInGroup;
  const std::uint8_t* const column_sums = product.b + int8_columns(product.n) * row_bytes;
  const auto tile_at = [&](std::size_t r, std::size_t column) {
    return Int8Tile{product.b + column * row_bytes, row_sums + r, column_sums + column * sizeof(std::int32_t),
                    first + r, column};
  };
  std::size_t column = product.first_column;
  if constexpr (kByPairs) {
    const std::size_t end = product.end_column < product.n ? product.end_column : product.n;
    for (; column + 2 * kPanel <= end; column += 2 * kPanel) {
      by_even_tiles<kTileRowsOf<4>>(
          rows, [&](std::size_t r, auto count) __attribute__((always_inline)) {
            int8_tile<count, 4>(product, left.from(r), tile_at(r, column), Full{});
          });
    }
  }
  for (; column < product.end_column; column += kPanel) {
    const std::size_t columns = product.n - column < kPanel ? product.n - column : kPanel;
    by_row_tiles<Left::Dot::kAdds128 ? kInt8Rows : kInt8Rows + 1>(
        rows, [&](std::size_t r, auto count) __attribute__((always_inline)) {
          int8_columns_of<count>(product, left.from(r), tile_at(r, column), columns);
        });
  }
}

inline constexpr std::size_t kInt8Block = 128;  // rows

template <class Dot, bool kSigned, bool kByPairs = false>
void int8_gemm_of(const Int8Gemm& product) {
  std::int32_t row_sums[kInt8Block];
  for (std::size_t first = 0; first < product.m; first += kInt8Block) {
    const std::size_t rows = product.m - first < kInt8Block ? product.m - first : kInt8Block;
    const LeftOfBytes<Dot, kSigned> left{product.a + static_cast<std::ptrdiff_t>(first) * product.a_row,
                                         product.a_row, product.k};
    for (std::size_t r = 0; r < rows; ++r) row_sums[r] = Dot::kAdds128 ? left.sum(r) : 0;
    int8_rows<kByPairs>(product, left, row_sums, first, rows);
  }
}

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
// The size of the buffer for split rows, in 32-bit pairs: 64 KiB.
inline constexpr std::size_t kInt8Pairs = std::size_t{1} << 14;

template <bool kSigned>
void int8_gemm_of_pairs(const Int8Gemm& product) {
  const std::size_t groups = int8_groups(product.k);
  const std::size_t fitting = groups == 0 ? kInt8Block : kInt8Pairs / (2 * groups);
  if (fitting < kInt8Rows) return int8_gemm_of<DotOfPairs, kSigned>(product);
  const std::size_t block = fitting < kInt8Block ? fitting / kInt8Rows * kInt8Rows : kInt8Block;
  alignas(64) std::int32_t pairs[kInt8Pairs];
  std::int32_t row_sums[kInt8Block];
  for (std::size_t first = 0; first < product.m; first += block) {
    const std::size_t rows = product.m - first < block ? product.m - first : block;
    for (std::size_t r = 0; r < rows; ++r) {
      row_sums[r] = split_row<kSigned>(product.a + static_cast<std::ptrdiff_t>(first + r) * product.a_row,
                                       product.k, groups, pairs + r * 2 * groups);
    }
    int8_rows<false>(product, LeftOfPairs{pairs, groups}, row_sums, first, rows);
  }
}
#endif

template <class Dot, bool kByPairs = false>
void int8_gemm(const Int8Gemm& product) {
#if defined(SR_KERNEL_AVX2)
  if constexpr (std::is_same_v<Dot, DotOfPairs>) {
    std::int32_t has_least;
    std::memcpy(&has_least, product.b + packed_int8_bytes(product.n, product.k) - sizeof(has_least),
                sizeof(has_least));
    if (has_least == 0) return int8_gemm<DotOfSigns>(product);
  }
#endif
#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
  if constexpr (std::is_same_v<Dot, DotOfPairs>) {
    if (product.a_signed) return int8_gemm_of_pairs<true>(product);
    return int8_gemm_of_pairs<false>(product);
  }
#endif
  if (product.a_signed) return int8_gemm_of<Dot, true, kByPairs>(product);
  int8_gemm_of<Dot, false, kByPairs>(product);
}

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
template <bool kByPairs>
inline constexpr auto* kInt8GemmByBytes = &int8_gemm<DotOfBytes, kByPairs>;
#else
template <bool kByPairs>
inline constexpr void (*kInt8GemmByBytes)(const Int8Gemm& product) = nullptr;
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
