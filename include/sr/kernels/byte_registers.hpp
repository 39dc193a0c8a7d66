// Whole registers of bytes: how two of them are interleaved, how four registers of integers are packed to one
// of bytes, and some of their lanes in memory. Interleaving and packing work within each 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

inline constexpr std::size_t kByteLanes = 4 * kWidth;

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)

#if defined(SR_KERNEL_AVX512)
using ByteRegister = __m512i;
SR_KERNEL_INLINE ByteRegister low_of_bytes(ByteRegister a, ByteRegister b) {
  return _mm512_unpacklo_epi8(a, b);
}
SR_KERNEL_INLINE ByteRegister high_of_bytes(ByteRegister a, ByteRegister b) {
  return _mm512_unpackhi_epi8(a, b);
}
SR_KERNEL_INLINE ByteRegister low_of_pairs(ByteRegister a, ByteRegister b) {
  return _mm512_unpacklo_epi16(a, b);
}
SR_KERNEL_INLINE ByteRegister high_of_pairs(ByteRegister a, ByteRegister b) {
  return _mm512_unpackhi_epi16(a, b);
}
template <bool kSigned>
SR_KERNEL_INLINE ByteRegister packed(Ints a, Ints b, Ints c, Ints d) {
  const ByteRegister low =
      _mm512_packs_epi32(reinterpret_cast<ByteRegister>(a.lanes), reinterpret_cast<ByteRegister>(b.lanes));
  const ByteRegister high =
      _mm512_packs_epi32(reinterpret_cast<ByteRegister>(c.lanes), reinterpret_cast<ByteRegister>(d.lanes));
  return kSigned ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}
SR_KERNEL_INLINE ByteRegister load_channels(const std::uint8_t* from, std::size_t count) {
  return _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> (kByteLanes - count), from);
}
SR_KERNEL_INLINE void store_channels(ByteRegister bytes, std::uint8_t* to, std::size_t count) {
  _mm512_mask_storeu_epi8(to, ~std::uint64_t{0} >> (kByteLanes - count), bytes);
}
#else
using ByteRegister = __m256i;
SR_KERNEL_INLINE ByteRegister low_of_bytes(ByteRegister a, ByteRegister b) {
  return _mm256_unpacklo_epi8(a, b);
}
SR_KERNEL_INLINE ByteRegister high_of_bytes(ByteRegister a, ByteRegister b) {
  return _mm256_unpackhi_epi8(a, b);
}
SR_KERNEL_INLINE ByteRegister low_of_pairs(ByteRegister a, ByteRegister b) {
  return _mm256_unpacklo_epi16(a, b);
}
SR_KERNEL_INLINE ByteRegister high_of_pairs(ByteRegister a, ByteRegister b) {
  return _mm256_unpackhi_epi16(a, b);
}
template <bool kSigned>
SR_KERNEL_INLINE ByteRegister packed(Ints a, Ints b, Ints c, Ints d) {
  const ByteRegister low =
      _mm256_packs_epi32(reinterpret_cast<ByteRegister>(a.lanes), reinterpret_cast<ByteRegister>(b.lanes));
  const ByteRegister high =
      _mm256_packs_epi32(reinterpret_cast<ByteRegister>(c.lanes), reinterpret_cast<ByteRegister>(d.lanes));
  return kSigned ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
}
SR_KERNEL_INLINE ByteRegister load_channels(const std::uint8_t* from, std::size_t count) {
  if (count == kByteLanes) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const std::size_t words = count / 4;
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                last = _mm256_set1_epi32(static_cast<int>(words));
  const __m256i bytes =
      _mm256_maskload_epi32(reinterpret_cast<const int*>(from), _mm256_cmpgt_epi32(last, lanes));
  if (count % 4 == 0) return bytes;
  std::uint32_t rest = 0;
  for (std::size_t i = 4 * words; i < count; ++i)
    rest |= static_cast<std::uint32_t>(from[i]) << (8 * (i % 4));
  const __m256i spread = _mm256_set1_epi32(static_cast<int>(rest));
  return bytes | (spread & _mm256_cmpeq_epi32(last, lanes));
}
// Without maskstore, which takes dozens of cycles on AMD.
SR_KERNEL_INLINE void store_channels(ByteRegister bytes, std::uint8_t* to, std::size_t count) {
  if (count == kByteLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  __m128i part = _mm256_castsi256_si128(bytes);
  if ((count & 16) != 0) {
    std::memcpy(to, &part, 16);
    part = _mm256_extracti128_si256(bytes, 1);
    to += 16;
  }
  if ((count & 8) != 0) {
    std::memcpy(to, &part, 8);
    part = _mm_srli_si128(part, 8);
    to += 8;
  }
  auto rest = static_cast<std::uint64_t>(_mm_cvtsi128_si64(part));
  for (std::size_t i = 0; i < count % 8; ++i, rest >>= 8) to[i] = static_cast<std::uint8_t>(rest);
}
#endif

#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
