// The parts of vec.hpp that depend on the instruction set, for all but AVX-512. Masks are vectors of 0 and
// -1. Uses intrinsics where AVX2 has an instruction, and vector extensions otherwise.
#pragma once

#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

struct Mask {
  Int32s lanes;

  SR_KERNEL_INLINE friend Mask operator&(Mask a, Mask b) { return {a.lanes & b.lanes}; }
  SR_KERNEL_INLINE friend Mask operator|(Mask a, Mask b) { return {a.lanes | b.lanes}; }
  SR_KERNEL_INLINE friend Mask operator!(Mask a) { return {~a.lanes}; }
};

SR_KERNEL_INLINE Mask operator>(Vec a, Vec b) {
  return {reinterpret_cast<Int32s>(a.lanes > b.lanes)};
}
SR_KERNEL_INLINE Mask operator>=(Vec a, Vec b) {
  return {reinterpret_cast<Int32s>(a.lanes >= b.lanes)};
}
SR_KERNEL_INLINE Mask operator<(Vec a, Vec b) {
  return {reinterpret_cast<Int32s>(a.lanes < b.lanes)};
}
SR_KERNEL_INLINE Mask operator<=(Vec a, Vec b) {
  return {reinterpret_cast<Int32s>(a.lanes <= b.lanes)};
}
SR_KERNEL_INLINE Mask operator==(Vec a, Vec b) {
  return {reinterpret_cast<Int32s>(a.lanes == b.lanes)};
}
SR_KERNEL_INLINE Mask operator!=(Vec a, Vec b) {
  return {reinterpret_cast<Int32s>(a.lanes != b.lanes)};
}

SR_KERNEL_INLINE Vec select(Mask which, Vec yes, Vec no) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_blendv_ps(no.lanes, yes.lanes, reinterpret_cast<Floats>(which.lanes)));
#else
  return from_bits(Ints((bits(yes).lanes & which.lanes) | (bits(no).lanes & ~which.lanes)));
#endif
}

SR_KERNEL_INLINE Mask first_lanes(std::size_t count) {
  Int32s index;
  for (std::size_t i = 0; i < kWidth; ++i) index[i] = static_cast<std::int32_t>(i);
  return {reinterpret_cast<Int32s>(index < static_cast<std::int32_t>(count))};
}

SR_KERNEL_INLINE Vec Vec::load(const float* from, std::size_t count) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_maskload_ps(from, reinterpret_cast<__m256i>(first_lanes(count).lanes)));
#else
  Floats result{};
  if ((count & 2) != 0) std::memcpy(&result, from, 2 * sizeof(float));
  if ((count & 1) != 0) {  // written out, as a variable index would send the register through memory
    if (count == 1) {
      result[0] = from[0];
    } else {
      result[2] = from[2];
    }
  }
  return Vec(result);
#endif
}
SR_KERNEL_INLINE Vec Vec::load(const float* from, std::size_t count, Vec rest) {
  return select(first_lanes(count), load(from, count), rest);
}
SR_KERNEL_INLINE void Vec::store(float* to, std::size_t count) const {
#if defined(SR_KERNEL_AVX2)
  // Without maskstore, which takes dozens of cycles on AMD.
  __m128 part = _mm256_castps256_ps128(lanes);
  if ((count & 4) != 0) {
    _mm_storeu_ps(to, part);
    part = _mm256_extractf128_ps(lanes, 1);
    to += 4;
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
    part = _mm_movehl_ps(part, part);
    to += 2;
  }
  if ((count & 1) != 0) _mm_store_ss(to, part);
#else
  if ((count & 2) != 0) {
    std::memcpy(to, &lanes, 2 * sizeof(float));
    if (count == 3) to[2] = lanes[2];
  } else if (count == 1) {
    to[0] = lanes[0];
  }
#endif
}

SR_KERNEL_INLINE Vec fma(Vec a, Vec b, Vec c) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_fmadd_ps(a.lanes, b.lanes, c.lanes));
#else
  return a * b + c;
#endif
}

SR_KERNEL_INLINE Vec sqrt(Vec x) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_sqrt_ps(x.lanes));
#else
  for (std::size_t i = 0; i < kWidth; ++i) x.lanes[i] = __builtin_sqrtf(x.lanes[i]);
  return x;
#endif
}

SR_KERNEL_INLINE Vec first_max(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_max_ps(a.lanes, b.lanes));
#else
  return Vec(a.lanes > b.lanes ? a.lanes : b.lanes);
#endif
}
SR_KERNEL_INLINE Vec first_min(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_min_ps(a.lanes, b.lanes));
#else
  return Vec(a.lanes < b.lanes ? a.lanes : b.lanes);
#endif
}

// x * 2^power, rounded once; power is a whole number, |power| < 250. The first of the two steps is exact
// unless the result is infinite or zero anyway.
SR_KERNEL_INLINE Vec scale(Vec x, Vec power) {
  const Ints whole = to_ints(power);
  const Ints half = whole >> 1;
  const Vec first = from_bits((half + Ints(127)) << 23);
  const Vec second = from_bits((whole - half + Ints(127)) << 23);
  return x * first * second;
}
// The power for which scale_by_shifted returns zero.
inline constexpr float kZeroPower = -127;
// Does what `scale` does; `shifted` is the power plus kShift. The power must be from -126 to 127, or
// kZeroPower.
SR_KERNEL_INLINE Vec scale_by_shifted(Vec x, Vec shifted) {
  return x * from_bits((bits(shifted) + Ints(127)) << 23);
}

#if defined(SR_KERNEL_AVX2)
template <int kMode>
SR_KERNEL_INLINE Vec rounded(Vec x) {
  return Vec(_mm256_round_ps(x.lanes, kMode | _MM_FROUND_NO_EXC));
}
SR_KERNEL_INLINE Vec round_even(Vec x) {
  return rounded<_MM_FROUND_TO_NEAREST_INT>(x);
}
SR_KERNEL_INLINE Vec floor(Vec x) {
  return rounded<_MM_FROUND_TO_NEG_INF>(x);
}
SR_KERNEL_INLINE Vec ceil(Vec x) {
  return rounded<_MM_FROUND_TO_POS_INF>(x);
}
SR_KERNEL_INLINE Vec trunc(Vec x) {
  return rounded<_MM_FROUND_TO_ZERO>(x);
}
#else
// From 2^23 on every float is an integer; smaller numbers are rounded by adding 2^23. The comparison is false
// for NaN.
SR_KERNEL_INLINE Vec round_even(Vec x) {
  const Vec magnitude = abs(x);
  return select(magnitude < Vec(0x1p23f), copysign((magnitude + 0x1p23f) - 0x1p23f, x), x);
}
SR_KERNEL_INLINE Vec floor(Vec x) {
  const Vec near = round_even(x);
  return select(near > x, near - 1.0f, near);
}
SR_KERNEL_INLINE Vec ceil(Vec x) {
  const Vec near = round_even(x);
  return select(near < x, copysign(near + 1.0f, x), near);
}
SR_KERNEL_INLINE Vec trunc(Vec x) {
  return copysign(floor(abs(x)), x);
}
#endif

// The lanes of a and b in turn: a0 b0 a1 b1 ..., first and second half.
SR_KERNEL_INLINE Vec zip_low(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(__builtin_shufflevector(a.lanes, b.lanes, 0, 8, 1, 9, 2, 10, 3, 11));
#else
  return Vec(__builtin_shufflevector(a.lanes, b.lanes, 0, 4, 1, 5));
#endif
}
SR_KERNEL_INLINE Vec zip_high(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(__builtin_shufflevector(a.lanes, b.lanes, 4, 12, 5, 13, 6, 14, 7, 15));
#else
  return Vec(__builtin_shufflevector(a.lanes, b.lanes, 2, 6, 3, 7));
#endif
}

// The lanes of a and then of b at even positions.
SR_KERNEL_INLINE Vec even_lanes(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(__builtin_shufflevector(a.lanes, b.lanes, 0, 2, 4, 6, 8, 10, 12, 14));
#else
  return Vec(__builtin_shufflevector(a.lanes, b.lanes, 0, 2, 4, 6));
#endif
}

// Interleave in each group of four lanes: those of its first half, of its second; lanes, pairs of lanes.
SR_KERNEL_INLINE Vec unpack_low(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_unpacklo_ps(a.lanes, b.lanes));
#else
  return zip_low(a, b);
#endif
}
SR_KERNEL_INLINE Vec unpack_high(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_unpackhi_ps(a.lanes, b.lanes));
#else
  return zip_high(a, b);
#endif
}
SR_KERNEL_INLINE Vec unpack_low_pairs(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_shuffle_ps(a.lanes, b.lanes, 0x44));
#else
  return Vec(__builtin_shufflevector(a.lanes, b.lanes, 0, 1, 4, 5));
#endif
}
SR_KERNEL_INLINE Vec unpack_high_pairs(Vec a, Vec b) {
#if defined(SR_KERNEL_AVX2)
  return Vec(_mm256_shuffle_ps(a.lanes, b.lanes, 0xee));
#else
  return Vec(__builtin_shufflevector(a.lanes, b.lanes, 2, 3, 6, 7));
#endif
}

// Combines the upper half with the lower one until one lane is left.
template <class Combine>
SR_KERNEL_INLINE float folded(Vec x, Combine combine) {
#if defined(SR_KERNEL_AVX2)
  x = combine(x, Vec(__builtin_shufflevector(x.lanes, x.lanes, 4, 5, 6, 7, 4, 5, 6, 7)));
  x = combine(x, Vec(__builtin_shufflevector(x.lanes, x.lanes, 2, 3, 2, 3, 6, 7, 6, 7)));
  x = combine(x, Vec(__builtin_shufflevector(x.lanes, x.lanes, 1, 1, 1, 1, 5, 5, 5, 5)));
#else
  x = combine(x, Vec(__builtin_shufflevector(x.lanes, x.lanes, 2, 3, 2, 3)));
  x = combine(x, Vec(__builtin_shufflevector(x.lanes, x.lanes, 1, 1, 1, 1)));
#endif
  return x.lanes[0];
}
SR_KERNEL_INLINE float sum(Vec x) {
  return folded(x, [](Vec a, Vec b) { return a + b; });
}
SR_KERNEL_INLINE float max(Vec x) {
  return folded(x, [](Vec a, Vec b) { return first_max(a, b); });
}

// Adds up lanes i, i + 4, i + 8, ...
SR_KERNEL_INLINE Quad sum_by_four(Vec x) {
#if defined(SR_KERNEL_AVX2)
  return _mm_add_ps(_mm256_castps256_ps128(x.lanes), _mm256_extractf128_ps(x.lanes, 1));
#else
  return x.lanes;
#endif
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
