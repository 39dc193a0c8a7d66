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

// Rows of the left side, from the first one of a tile on. Unsigned bytes are read as signed, minus 128.
template <class DotOf, bool kSigned>
struct LeftOfBytes {
  using Dot = DotOf;
  static constexpr bool kMoved = !kSigned;

  const std::uint8_t* a;
  std::ptrdiff_t row;
  std::size_t k;

  SR_KERNEL_INLINE LeftOfBytes from(std::size_t r) const {
    return {a + static_cast<std::ptrdiff_t>(r) * row, row, k};
  }
  SR_KERNEL_INLINE std::size_t groups() const { return k / kInGroup; }  // whole ones
  SR_KERNEL_INLINE bool has_rest() const { return k % kInGroup != 0; }
  SR_KERNEL_INLINE Dot group(std::size_t r, std::size_t g) const { return at(r, g, kInGroup); }
  SR_KERNEL_INLINE Dot rest(std::size_t r) const { return at(r, groups(), k % kInGroup); }
  SR_KERNEL_INLINE Dot at(std::size_t r, std::size_t g, std::size_t count) const {
    return Dot::left(int8_group<kSigned>(a + static_cast<std::ptrdiff_t>(r) * row + g * kInGroup, count));
  }
  SR_KERNEL_INLINE std::int32_t sum(std::size_t r) const {
    const std::uint8_t* const bytes = a + static_cast<std::ptrdiff_t>(r) * row;
    std::int32_t total = 0;
    for (std::size_t l = 0; l < k; ++l)
      total += static_cast<std::int8_t>(kSigned ? bytes[l] : bytes[l] ^ 0x80U);
    return total;
  }
};

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
// The same as pairs of 16 bits, into which all rows were split before: the even pairs of a row, then the odd
// ones.
struct LeftOfPairs {
  using Dot = DotOfPairs;
  static constexpr bool kMoved = false;

  const std::int32_t* pairs;
  std::size_t count;  // groups of a row, the last one filled up with zeros

  SR_KERNEL_INLINE LeftOfPairs from(std::size_t r) const { return {pairs + r * 2 * count, count}; }
  SR_KERNEL_INLINE std::size_t groups() const { return count; }
  SR_KERNEL_INLINE bool has_rest() const { return false; }
  SR_KERNEL_INLINE DotOfPairs group(std::size_t r, std::size_t g) const {
    const std::int32_t* const row = pairs + r * 2 * count;
    return {Ints(row[g]), Ints(row[count + g])};
  }
  SR_KERNEL_INLINE DotOfPairs rest(std::size_t) const { return {}; }
};

// Splits a row of k bytes. Returns their sum.
template <bool kSigned>
SR_KERNEL_INLINE std::int32_t split_row(const std::uint8_t* a, std::size_t k, std::size_t groups,
                                        std::int32_t* pairs) {
  using Byte = std::conditional_t<kSigned, std::int8_t, std::uint8_t>;
  const auto pair = [](Byte low, Byte high) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint16_t>(low)) |
                                     static_cast<std::uint32_t>(static_cast<std::uint16_t>(high)) << 16U);
  };
  std::int32_t total = 0;
  std::size_t g = 0;
  for (; (g + kWidth) * kInGroup <= k; g += kWidth) {
    using Int16s [[gnu::vector_size(kWidth * 4)]] = std::conditional_t<kSigned, std::int16_t, std::uint16_t>;
    const auto bytes = reinterpret_cast<Int16s>(load_ints(a + g * kInGroup).lanes);
    const Int16s even = (bytes << 8) >> 8, odd = bytes >> 8;
    std::memcpy(pairs + g, &even, sizeof(even));
    std::memcpy(pairs + groups + g, &odd, sizeof(odd));
  }
  for (; g < groups; ++g) {
    Byte group[kInGroup] = {};
    std::memcpy(group, a + g * kInGroup, k - g * kInGroup < kInGroup ? k - g * kInGroup : kInGroup);
    pairs[g] = pair(group[0], group[2]);
    pairs[groups + g] = pair(group[1], group[3]);
  }
  for (std::size_t l = 0; l < k; ++l) total += static_cast<Byte>(a[l]);
  return total;
}
#endif

// Rows and columns of a tile in the operands.
struct Int8Tile {
  const std::uint8_t* b;            // the panel
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
  const auto step = [&](auto part, auto of_row) __attribute__((always_inline)) {
    Dot columns[kVecs];
    unrolled<kVecs>([&](auto v) { columns[v] = Dot::right(b + v * kWidth * kInGroup); });
    b += kVecs * kWidth * kInGroup;
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
      total = total - (Ints(tile.row_sums[r]) << 7);
      const std::uint8_t* const column_sums = tile.column_sums + v * kWidth * sizeof(std::int32_t);
      if constexpr (Left::kMoved) total = total + (load_ints(column_sums) << 7);
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

template <std::size_t kRows, class Left>
SR_KERNEL_INLINE void int8_columns_of(const Int8Gemm& product, const Left& left, const Int8Tile& tile,
                                      std::size_t columns) {
  if (columns == kPanel) return int8_tile<kRows, 2>(product, left, tile, Full{});
  if (columns == kWidth) return int8_tile<kRows, 1>(product, left, tile, Full{});
  const Part last{columns % kWidth};
  if (columns > kWidth) return int8_tile<kRows, 2>(product, left, tile, last);
  int8_tile<kRows, 1>(product, left, tile, last);
}

// Multiplies `rows` rows of the product, from `first` on, whose left side is `left`.
template <class Left>
void int8_rows(const Int8Gemm& product, const Left& left, const std::int32_t* row_sums, std::size_t first,
               std::size_t rows) {
  const std::size_t row_bytes = int8_groups(product.k) * kInGroup;
  const std::uint8_t* const column_sums = product.b + int8_columns(product.n) * row_bytes;
  for (std::size_t column = product.first_column; column < product.end_column; column += kPanel) {
    const std::size_t columns = product.n - column < kPanel ? product.n - column : kPanel;
    by_row_tiles<kInt8Rows>(
        rows, [&](std::size_t r, auto count) __attribute__((always_inline)) {
          const Int8Tile tile{product.b + column * row_bytes, row_sums + r,
                              column_sums + column * sizeof(std::int32_t), first + r, column};
          int8_columns_of<count>(product, left.from(r), tile, columns);
        });
  }
}

inline constexpr std::size_t kInt8Block = 128;  // rows

template <class Dot, bool kSigned>
void int8_gemm_of(const Int8Gemm& product) {
  std::int32_t row_sums[kInt8Block];
  for (std::size_t first = 0; first < product.m; first += kInt8Block) {
    const std::size_t rows = product.m - first < kInt8Block ? product.m - first : kInt8Block;
    const LeftOfBytes<Dot, kSigned> left{product.a + static_cast<std::ptrdiff_t>(first) * product.a_row,
                                         product.a_row, product.k};
    for (std::size_t r = 0; r < rows; ++r) row_sums[r] = left.sum(r);
    int8_rows(product, left, row_sums, first, rows);
  }
}

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
// Rows that are split into pairs at a time, as many as fit into 64 KiB.
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
    int8_rows(product, LeftOfPairs{pairs, groups}, row_sums, first, rows);
  }
}
#endif

template <class Dot>
void int8_gemm(const Int8Gemm& product) {
#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
  if constexpr (std::is_same_v<Dot, DotOfPairs>) {
    if (product.a_signed) return int8_gemm_of_pairs<true>(product);
    return int8_gemm_of_pairs<false>(product);
  }
#endif
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
