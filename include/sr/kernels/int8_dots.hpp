// The packed right side of products of 8-bit integers, and the instructions that add up its products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/gemm.hpp>
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

// Returns the size of the packed matrix: panels of groups of four elements of k, then the sum of each column
// as int32, then an int32 that is 1 if an element is -128, else 0.
inline std::size_t packed_int8_bytes(std::size_t n, std::size_t k) {
  return int8_columns(n) * (int8_groups(k) * kInGroup + sizeof(std::int32_t)) + sizeof(std::int32_t);
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
  std::int32_t has_least = 0;
  for (std::size_t j = 0; j < int8_columns(n); ++j, to += sizeof(std::int32_t)) {
    std::int32_t sum = 0;
    for (std::size_t l = 0; l < k; ++l) {
      sum += element(l, j);
      if (element(l, j) == -128) has_least = 1;
    }
    std::memcpy(to, &sum, sizeof(sum));
  }
  std::memcpy(to, &has_least, sizeof(has_least));
}

SR_KERNEL_INLINE Ints load_ints(const void* from) {
  Ints result;
  std::memcpy(&result.lanes, from, sizeof(result.lanes));
  return result;
}

// What adds up the products of groups. Left: signed bytes, a group in every lane or
// one in each. Right: unsigned bytes, a group in each lane or one in every.
#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
struct DotOfBytes {  // AVX512_VNNI or AVX-VNNI, which files with the flags of AVX-512 or AVX2 do not assume
  static constexpr bool kAdds128 = true;  // to the right side
  Ints group;
  SR_KERNEL_INLINE static DotOfBytes left(std::int32_t group) { return {Ints(group)}; }
  SR_KERNEL_INLINE static DotOfBytes right(Ints bytes) { return {bytes}; }
  SR_KERNEL_INLINE static DotOfBytes signed_bytes(Ints groups) { return {groups}; }
  SR_KERNEL_INLINE static Ints add(Ints sum, const DotOfBytes& left, const DotOfBytes& right) {
#if defined(SR_KERNEL_AVX512)
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.lanes) : "v"(right.group.lanes), "v"(left.group.lanes));
#else
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.lanes) : "x"(right.group.lanes), "x"(left.group.lanes));
#endif
    return sum;
  }
};
#endif

#if defined(SR_KERNEL_AVX2)
// Multiplies the magnitudes of the left side by the right side with the left one's signs. The sum of two such
// products fits into 16 bits unless an element of the right side is -128.
struct DotOfSigns {
  static constexpr bool kAdds128 = false;
  __m256i bytes;  // magnitudes on the left
  __m256i signs;  // of the left

  SR_KERNEL_INLINE static DotOfSigns left(std::int32_t group) {
    const auto all = reinterpret_cast<__m256i>(Ints(group).lanes);
    return {_mm256_abs_epi8(all), all};
  }
  SR_KERNEL_INLINE static DotOfSigns right(Ints groups) {
    const Ints moved = groups ^ Ints(static_cast<std::int32_t>(0x80808080));
    return {reinterpret_cast<__m256i>(moved.lanes), __m256i{}};
  }
  SR_KERNEL_INLINE static Ints add(Ints sum, const DotOfSigns& left, const DotOfSigns& right) {
    const __m256i pairs = _mm256_maddubs_epi16(left.bytes, _mm256_sign_epi8(right.bytes, left.signs));
    return sum + Ints(reinterpret_cast<Int32s>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1))));
  }
};
#endif

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
// Keeps pairs of 16 bits: the elements 0 and 2 of a group, and 1 and 3.
struct DotOfPairs {
  static constexpr bool kAdds128 = true;
  Ints even, odd;
  SR_KERNEL_INLINE static DotOfPairs left(std::int32_t group) { return signed_bytes(Ints(group)); }
  SR_KERNEL_INLINE static DotOfPairs signed_bytes(Ints groups) {
    using Int16s [[gnu::vector_size(kWidth * 4)]] = std::int16_t;
    const auto bytes = reinterpret_cast<Int16s>(groups.lanes);
    return {Ints(reinterpret_cast<Int32s>((bytes << 8) >> 8)), Ints(reinterpret_cast<Int32s>(bytes >> 8))};
  }
  SR_KERNEL_INLINE static DotOfPairs right(Ints bytes) {
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

// For a right side of at most 15: two products of an element by 128 fit into 16 bits.
struct DotOfNibbles {
  Ints group;
  SR_KERNEL_INLINE static DotOfNibbles left(std::int32_t group) { return {Ints(group)}; }
  SR_KERNEL_INLINE static DotOfNibbles right(Ints bytes) { return {bytes}; }
  SR_KERNEL_INLINE static Ints add(Ints sum, const DotOfNibbles& left, const DotOfNibbles& right) {
#if defined(SR_KERNEL_AVX512)
    const __m512i pairs = _mm512_maddubs_epi16(reinterpret_cast<__m512i>(right.group.lanes),
                                               reinterpret_cast<__m512i>(left.group.lanes));
#else
    const __m256i pairs = _mm256_maddubs_epi16(reinterpret_cast<__m256i>(right.group.lanes),
                                               reinterpret_cast<__m256i>(left.group.lanes));
#endif
    return sum + DotOfPairs::products(Ints(reinterpret_cast<Int32s>(pairs)), Ints(0x00010001));
  }
};
using PlainNibbleDot = DotOfNibbles;
#else
struct DotOfInts {
  static constexpr bool kAdds128 = true;
  Ints elements[kInGroup];
  SR_KERNEL_INLINE static DotOfInts left(std::int32_t group) {
    DotOfInts made;
    unrolled<kInGroup>([&](auto i) {
      made.elements[i] = Ints(static_cast<std::int8_t>(static_cast<std::uint32_t>(group) >> (8 * i)));
    });
    return made;
  }
  SR_KERNEL_INLINE static DotOfInts right(Ints bytes) {
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
using PlainNibbleDot = DotOfInts;
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
