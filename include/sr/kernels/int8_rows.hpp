// The left side of products of 8-bit integers: rows of bytes, or rows that were split into pairs of 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sr/kernels/int8_dots.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

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
// Rows that were split into pairs of 16 bits before: the even pairs of a row, then the odd ones.
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

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
