// Registers of floats in memory as bfloat16, which are the upper halves of their bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

using Halves [[gnu::vector_size(kWidth * 2)]] = std::uint16_t;

// Rounds to the nearest bfloat16, ties to even. NaN stays NaN.
SR_KERNEL_INLINE std::uint16_t to_upper_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<std::uint16_t>(value != value ? 0x7fc0 : rounded);
}
SR_KERNEL_INLINE Halves to_upper_halves(Vec values) {
  const Ints all = bits(values);
  const Vec rounded = from_bits(all + Ints(0x7fff) + ((all >> 16) & Ints(1)));
  const Ints with_nan = bits(select(is_nan(values), from_bits(Ints(0x7fc00000)), rounded));
  return __builtin_convertvector(reinterpret_cast<Uint32s>(with_nan.lanes) >> 16, Halves);
}

// The float of each bfloat16 or integer of 8 or 4 bits, which is exact.
SR_KERNEL_INLINE float to_float(Bfloat16Bits value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
// Loads as many as a register has floats.
SR_KERNEL_INLINE Vec load_widened(const Bfloat16Bits* from) {
  Halves halves;
  std::memcpy(&halves, from, sizeof(halves));
#if defined(SR_KERNEL_AVX512)
  const auto whole = _mm512_maskz_cvtepu16_epi32(kAllLanes, reinterpret_cast<__m256i>(halves));
#elif defined(SR_KERNEL_AVX2)  // g++ 12 would widen half of them at a time
  const auto whole = _mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(halves));
#else
  const auto whole = __builtin_convertvector(halves, Uint32s);
#endif
  return from_bits(Ints(reinterpret_cast<Int32s>(whole)) << 16);
}
SR_KERNEL_INLINE Vec load_widened(const std::int8_t* from) {
  using Bytes [[gnu::vector_size(kWidth)]] = std::int8_t;
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
#if defined(SR_KERNEL_AVX512)
  const auto whole = _mm512_maskz_cvtepi8_epi32(kAllLanes, reinterpret_cast<__m128i>(bytes));
#elif defined(SR_KERNEL_AVX2)
  const auto whole = _mm256_cvtepi8_epi32(__m128i{std::bit_cast<long long>(bytes)});
#else
  const auto whole = __builtin_convertvector(bytes, Int32s);
#endif
  return to_floats(Ints(reinterpret_cast<Int32s>(whole)));
}
using UnsignedBytes [[gnu::vector_size(kWidth)]] = std::uint8_t;
SR_KERNEL_INLINE Vec widened(UnsignedBytes bytes) {
#if defined(SR_KERNEL_AVX512)
  const auto whole = _mm512_maskz_cvtepu8_epi32(kAllLanes, reinterpret_cast<__m128i>(bytes));
#elif defined(SR_KERNEL_AVX2)
  const auto whole = _mm256_cvtepu8_epi32(__m128i{std::bit_cast<long long>(bytes)});
#else
  const auto whole = __builtin_convertvector(bytes, Int32s);
#endif
  return to_floats(Ints(reinterpret_cast<Int32s>(whole)));
}
SR_KERNEL_INLINE Vec load_widened(const std::uint8_t* from) {
  UnsignedBytes bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return widened(bytes);
}
// The first half of the lanes of both, in turn.
template <std::size_t... Lane>
SR_KERNEL_INLINE UnsignedBytes interleaved(UnsignedBytes even, UnsignedBytes odd,
                                           std::index_sequence<Lane...>) {
  return __builtin_shufflevector(even, odd, static_cast<int>(Lane / 2 + (Lane % 2 == 0 ? 0 : kWidth))...);
}
// Loads unsigned numbers of 4 bits, the lower one of each byte first.
SR_KERNEL_INLINE Vec load_nibbles(const std::uint8_t* from) {
  UnsignedBytes pairs{};
  std::memcpy(&pairs, from, kWidth / 2);
  const UnsignedBytes low = pairs & 15, high = pairs >> 4;
  return widened(interleaved(low, high, std::make_index_sequence<kWidth>()));
}
// Pairs of a lane of one register and the same lane of another, which follows it.
struct TwoVecs {
  Vec first, second;
};
SR_KERNEL_INLINE TwoVecs load_widened_pairs(const Bfloat16Bits* from) {
  static_assert(std::endian::native == std::endian::little,
                "the first of a pair is the lower half of a word");
  Int32s words;
  std::memcpy(&words, from, sizeof(words));
  return {from_bits(Ints(words) << 16), from_bits(Ints(words) & Ints(static_cast<std::int32_t>(0xffff0000)))};
}

SR_KERNEL_INLINE void round_to(float value, Bfloat16Bits& to) {
  to.bits = to_upper_half(value);
}
SR_KERNEL_INLINE void store_rounded(Vec values, Bfloat16Bits* to, Full) {
  const Halves halves = to_upper_halves(values);
  std::memcpy(to, &halves, sizeof(halves));
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
