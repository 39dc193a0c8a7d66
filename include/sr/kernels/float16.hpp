// Conversions between registers of floats and float16 in memory (IEEE 754 binary16: 5 bits of exponent, 10 of
// fraction).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sr/kernels/bfloat16.hpp>
#include <sr/kernels/table.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

#if !defined(SR_KERNEL_AVX512) && !defined(SR_KERNEL_AVX2)
// Converts float16 to floats. Each lane holds the bits of one number in its lower half. A subnormal float16
// is a multiple of 2^-24 and is computed as such, because a processor may be set to treat subnormal floats as
// zeros.
SR_KERNEL_INLINE Vec of_float16(Ints halves) {
  const Ints magnitude = halves & Ints(0x7fff);
  const Vec order = to_floats(magnitude);  // only floats can be compared
  const Ints fraction = magnitude << 13;
  const Vec finite = select(order < Vec(0x400), order * Vec(0x1p-24f), from_bits(fraction + Ints(112 << 23)));
  const Vec special = from_bits(fraction | Ints(0x7f800000));
  const Vec result = select(order < Vec(0x7c00), finite, special);
  return from_bits(bits(result) | ((halves & Ints(0x8000)) << 16));
}

// Rounds to the nearest float16, ties to even, from 65520 on to infinity. NaN stays NaN.
SR_KERNEL_INLINE Ints to_float16(Vec values) {
  const Ints all = bits(values);
  const Vec magnitude = abs(values);
  // The last bit of a float from 1/2 to 1 is 2^-24, so that the addition rounds.
  const Ints subnormal = bits(magnitude + Vec(0.5f)) - bits(Vec(0.5f));
  const Ints whole = bits(magnitude);
  const Ints normal = ((whole + Ints(0xfff) + ((whole >> 13) & Ints(1))) >> 13) - Ints(112 << 10);
  const Vec finite = select(magnitude < Vec(0x1p-14f), from_bits(subnormal), from_bits(normal));
  const Vec large = select(magnitude < Vec(65520.0f), finite, from_bits(Ints(0x7c00)));
  return bits(select(is_nan(values), from_bits(Ints(0x7e00)), large)) | ((all >> 16) & Ints(0x8000));
}
#endif

SR_KERNEL_INLINE float to_float(Float16Bits value) {
#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
  return _cvtsh_ss(value.bits);
#else
  return of_float16(Ints(std::int32_t{value.bits})).lanes[0];
#endif
}
// Loads one number for each lane of a register of floats.
SR_KERNEL_INLINE Vec load_widened(const Float16Bits* from) {
  Halves halves;
  std::memcpy(&halves, from, sizeof(halves));
#if defined(SR_KERNEL_AVX512)
  return Vec(_mm512_maskz_cvtph_ps(kAllLanes, reinterpret_cast<__m256i>(halves)));
#elif defined(SR_KERNEL_AVX2)
  return Vec(_mm256_cvtph_ps(reinterpret_cast<__m128i>(halves)));
#else
  return of_float16(Ints(__builtin_convertvector(halves, Int32s)));
#endif
}

SR_KERNEL_INLINE void round_to(float value, Float16Bits& to) {
#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
  to.bits = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
#else
  to.bits = static_cast<std::uint16_t>(to_float16(Vec(value)).lanes[0]);
#endif
}
SR_KERNEL_INLINE void store_rounded(Vec values, Float16Bits* to, Full) {
#if defined(SR_KERNEL_AVX512)
  const auto halves = _mm512_maskz_cvtps_ph(kAllLanes, values.lanes, _MM_FROUND_TO_NEAREST_INT);
#elif defined(SR_KERNEL_AVX2)
  const auto halves = _mm256_cvtps_ph(values.lanes, _MM_FROUND_TO_NEAREST_INT);
#else
  const Halves halves = __builtin_convertvector(to_float16(values).lanes, Halves);
#endif
  std::memcpy(to, &halves, sizeof(halves));
}

// Stores the first lanes of the register, rounded to T, which is bfloat16 or float16.
template <class T>
SR_KERNEL_INLINE void store_rounded(Vec values, T* to, Part part) {
  T all[kWidth];
  store_rounded(values, all, Full{});
  const T* from = all;
  const auto some = [&](auto count) __attribute__((always_inline)) {
    if ((part.count & count) == 0) return;
    std::memcpy(to, from, count * sizeof(T));
    from += count;
    to += count;
  };
  if constexpr (kWidth > 8) some(Index<8>{});
  if constexpr (kWidth > 4) some(Index<4>{});
  some(Index<2>{});
  some(Index<1>{});
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
