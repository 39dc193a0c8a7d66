// Matrix products of 8-bit integers. Sums have 32 bits and do not saturate, so every instruction set gives
// the same results. The packed right side keeps four elements of k next to each other, because an instruction
// adds four products in each lane. It holds each weight plus 128 as an unsigned byte, because the instruction
// multiplies unsigned bytes by signed ones. Therefore 128 times the sum of the row is subtracted from each
// result. An unsigned left side is read as signed, minus 128, and 128 times the sum of the column is added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/gemm.hpp>
#include <sr/kernels/gemm_tiles.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

inline constexpr std::size_t kInGroup = 4;  // elements of k

inline std::size_t int8_groups(std::size_t k) {
  return (k + kInGroup - 1) / kInGroup;
}
inline std::size_t int8_columns(std::size_t n) {
  return (n + kWidth - 1) / kWidth * kWidth;
}

// Panels as of floats, of groups; then the sums of the columns.
inline std::size_t packed_int8_bytes(std::size_t n, std::size_t k) {
  return int8_columns(n) * (int8_groups(k) * kInGroup + sizeof(std::int32_t));
}

inline void pack_int8(std::size_t n, std::size_t k, const std::int8_t* b, std::ptrdiff_t b_k,
                      std::ptrdiff_t b_n, std::uint8_t* packed) {
  const std::size_t groups = int8_groups(k);
  const auto element = [=](std::size_t l, std::size_t j) {
    return l < k && j < n ? b[static_cast<std::ptrdiff_t>(l) * b_k + static_cast<std::ptrdiff_t>(j) * b_n]
                          : std::int8_t{0};
  };
  std::uint8_t* to = packed;
  for (std::size_t column = 0; column < n; column += kPanel) {
    const std::size_t width = panel_width(n, column);
    for (std::size_t group = 0; group < groups; ++group) {
      for (std::size_t j = 0; j < width; ++j) {
        for (std::size_t i = 0; i < kInGroup; ++i)
          *to++ = static_cast<std::uint8_t>(element(group * kInGroup + i, column + j) + 128);
      }
    }
  }
  for (std::size_t j = 0; j < int8_columns(n); ++j) {
    std::int32_t sum = 0;
    for (std::size_t l = 0; l < k; ++l) sum += element(l, j);
    std::memcpy(to + j * sizeof(sum), &sum, sizeof(sum));
  }
}

SR_KERNEL_INLINE Ints load_ints(const void* from) {
  Ints result;
  std::memcpy(&result.lanes, from, sizeof(result.lanes));
  return result;
}

// What adds up the products of groups. Left: a group in every lane. Right: a group in each lane.
#if defined(SR_KERNEL_AVX512)
struct DotOfBytes {  // AVX512_VNNI, which files with the flags of AVX-512 do not assume
  Ints group;
  SR_KERNEL_INLINE static DotOfBytes left(std::int32_t group) { return {Ints(group)}; }
  SR_KERNEL_INLINE static DotOfBytes right(const std::uint8_t* b) { return {load_ints(b)}; }
  SR_KERNEL_INLINE static Ints add(Ints sum, const DotOfBytes& left, const DotOfBytes& right) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.lanes) : "v"(right.group.lanes), "v"(left.group.lanes));
    return sum;
  }
};
#endif

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
// As pairs of 16 bits: the elements 0 and 2 of a group, and 1 and 3.
struct DotOfPairs {
  Ints even, odd;
  SR_KERNEL_INLINE static DotOfPairs left(std::int32_t group) {
    using Int16s [[gnu::vector_size(kWidth * 4)]] = std::int16_t;
    const auto bytes = reinterpret_cast<Int16s>(Ints(group).lanes);
    return {Ints(reinterpret_cast<Int32s>((bytes << 8) >> 8)), Ints(reinterpret_cast<Int32s>(bytes >> 8))};
  }
  SR_KERNEL_INLINE static DotOfPairs right(const std::uint8_t* b) {
    const Ints bytes = load_ints(b);
    return {bytes & Ints(0x00ff00ff), (bytes >> 8) & Ints(0x00ff00ff)};
  }
  SR_KERNEL_INLINE static Ints products(Ints a, Ints b) {
#if defined(SR_KERNEL_AVX512)
    return Ints(reinterpret_cast<Int32s>(
        _mm512_madd_epi16(reinterpret_cast<__m512i>(a.lanes), reinterpret_cast<__m512i>(b.lanes))));
#else
    return Ints(reinterpret_cast<Int32s>(
        _mm256_madd_epi16(reinterpret_cast<__m256i>(a.lanes), reinterpret_cast<__m256i>(b.lanes))));
#endif
  }
  SR_KERNEL_INLINE static Ints add(Ints sum, const DotOfPairs& left, const DotOfPairs& right) {
    return sum + (products(left.even, right.even) + products(left.odd, right.odd));
  }
};
using PlainDot = DotOfPairs;
#else
struct DotOfInts {
  Ints elements[kInGroup];
  SR_KERNEL_INLINE static DotOfInts left(std::int32_t group) {
    DotOfInts made;
    unrolled<kInGroup>([&](auto i) {
      made.elements[i] = Ints(static_cast<std::int8_t>(static_cast<std::uint32_t>(group) >> (8 * i)));
    });
    return made;
  }
  SR_KERNEL_INLINE static DotOfInts right(const std::uint8_t* b) {
    const Ints bytes = load_ints(b);
    DotOfInts made;
    unrolled<kInGroup>([&](auto i) { made.elements[i] = (bytes >> static_cast<int>(8 * i)) & Ints(255); });
    return made;
  }
  SR_KERNEL_INLINE static Ints add(Ints sum, const DotOfInts& left, const DotOfInts& right) {
    unrolled<kInGroup>([&](auto i) { sum = sum + Ints(left.elements[i].lanes * right.elements[i].lanes); });
    return sum;
  }
};
using PlainDot = DotOfInts;
#endif

// Rows that are computed together. Registers hold the sums, the columns and a group of a row.
#if defined(SR_KERNEL_AVX512)
inline constexpr std::size_t kInt8Rows = 8;
#else
inline constexpr std::size_t kInt8Rows = 4;
#endif

// The bytes of a group of a row as they are multiplied: signed. `count` < 4 at the row's end, else 4.
template <bool kSigned>
SR_KERNEL_INLINE std::int32_t int8_group(const std::uint8_t* a, std::size_t count) {
  std::uint32_t bytes = 0;
  if (count == kInGroup) {
    std::memcpy(&bytes, a, kInGroup);
  } else {
    for (std::size_t i = 0; i < count; ++i) bytes |= static_cast<std::uint32_t>(a[i]) << (8 * i);
  }
  if constexpr (!kSigned) bytes ^= 0x80808080U >> (8 * (kInGroup - count));
  return static_cast<std::int32_t>(bytes);
}

// Rows and columns of a tile in the operands.
struct Int8Tile {
  const std::uint8_t* a;            // its first row
  const std::uint8_t* b;            // the panel
  const std::int32_t* row_sums;     // of the signed left side
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

template <class Dot, bool kSigned, std::size_t kRows, std::size_t kVecs, class Last>
[[gnu::flatten, gnu::noinline]] void int8_tile(const Int8Gemm& product, const Int8Tile& tile, Last last) {
  constexpr std::size_t kParts = kSplit<kRows, kVecs>;
  Ints sums[kParts][kRows][kVecs];
  unrolled<kParts>([&](auto part) {
    unrolled<kRows>([&](auto r) { unrolled<kVecs>([&](auto v) { sums[part][r][v] = Ints(0); }); });
  });
  const std::uint8_t* b = tile.b;
  const auto step = [&](auto part, std::size_t l, std::size_t count) __attribute__((always_inline)) {
    Dot columns[kVecs];
    unrolled<kVecs>([&](auto v) { columns[v] = Dot::right(b + v * kWidth * kInGroup); });
    b += kVecs * kWidth * kInGroup;
    unrolled<kRows>([&](auto r) {
      const Dot left =
          Dot::left(int8_group<kSigned>(tile.a + static_cast<std::ptrdiff_t>(r) * product.a_row + l, count));
      unrolled<kVecs>([&](auto v) { sums[part][r][v] = Dot::add(sums[part][r][v], left, columns[v]); });
    });
  };
  std::size_t l = 0;
  for (; l + kParts * kInGroup <= product.k; l += kParts * kInGroup)
    unrolled<kParts>([&](auto part) { step(part, l + part * kInGroup, kInGroup); });
  for (; l + kInGroup <= product.k; l += kInGroup) step(Index<0>{}, l, kInGroup);
  if (l < product.k) step(Index<0>{}, l, product.k - l);
  unrolled<kRows>([&](auto r) {
    Ints totals[kVecs];
    unrolled<kVecs>([&](auto v) {
      Ints total = sums[0][r][v];
      if constexpr (kParts == 2) total = total + sums[1][r][v];
      if constexpr (kParts == 4) total = (total + sums[1][r][v]) + (sums[2][r][v] + sums[3][r][v]);
      total = total - (Ints(tile.row_sums[r]) << 7);
      const std::uint8_t* const column_sums = tile.column_sums + v * kWidth * sizeof(std::int32_t);
      if constexpr (!kSigned) total = total + (load_ints(column_sums) << 7);
      if (product.zero != nullptr) {
        const auto row = static_cast<std::ptrdiff_t>(tile.row + r);
        const Ints zero(static_cast<std::int32_t>(product.zero[row * product.zero_stride]));
        total = total - Ints(zero.lanes * load_ints(column_sums).lanes);
      }
      totals[v] = total;
    });
    store_int8_results<kVecs>(product, tile, tile.row + r, last, totals);
  });
}

template <class Dot, bool kSigned, std::size_t kRows>
SR_KERNEL_INLINE void int8_columns_of(const Int8Gemm& product, const Int8Tile& tile, std::size_t columns) {
  if (columns == kPanel) return int8_tile<Dot, kSigned, kRows, 2>(product, tile, Full{});
  if (columns == kWidth) return int8_tile<Dot, kSigned, kRows, 1>(product, tile, Full{});
  const Part last{columns % kWidth};
  if (columns > kWidth) return int8_tile<Dot, kSigned, kRows, 2>(product, tile, last);
  int8_tile<Dot, kSigned, kRows, 1>(product, tile, last);
}

template <class Dot, bool kSigned>
void int8_gemm_of(const Int8Gemm& product) {
  constexpr std::size_t kBlock = 128;  // rows
  std::int32_t row_sums[kBlock];
  const std::size_t row_bytes = int8_groups(product.k) * kInGroup;
  const std::uint8_t* const column_sums = product.b + int8_columns(product.n) * row_bytes;
  for (std::size_t first = 0; first < product.m; first += kBlock) {
    const std::size_t rows = product.m - first < kBlock ? product.m - first : kBlock;
    for (std::size_t r = 0; r < rows; ++r) {
      const std::uint8_t* const row = product.a + static_cast<std::ptrdiff_t>(first + r) * product.a_row;
      std::int32_t sum = 0;
      for (std::size_t l = 0; l < product.k; ++l)
        sum += static_cast<std::int8_t>(kSigned ? row[l] : row[l] ^ 0x80U);
      row_sums[r] = sum;
    }
    for (std::size_t column = product.first_column; column < product.end_column; column += kPanel) {
      const std::size_t left = product.n - column < kPanel ? product.n - column : kPanel;
      by_row_tiles<kInt8Rows>(
          rows, [&](std::size_t r, auto count) __attribute__((always_inline)) {
            const Int8Tile tile{product.a + static_cast<std::ptrdiff_t>(first + r) * product.a_row,
                                product.b + column * row_bytes,
                                row_sums + r,
                                column_sums + column * sizeof(std::int32_t),
                                first + r,
                                column};
            int8_columns_of<Dot, kSigned, count>(product, tile, left);
          });
    }
  }
}

template <class Dot>
void int8_gemm(const Int8Gemm& product) {
  if (product.a_signed) return int8_gemm_of<Dot, true>(product);
  int8_gemm_of<Dot, false>(product);
}

#if defined(SR_KERNEL_AVX512)
inline constexpr auto* kInt8GemmByBytes = &int8_gemm<DotOfBytes>;
#else
inline constexpr void (*kInt8GemmByBytes)(const Int8Gemm& product) = nullptr;
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
