// The parts of vec.hpp that depend on the instruction set, for AVX-512. Masks have their own registers.
#pragma once

#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

struct Mask {
  __mmask16 lanes;

  SR_KERNEL_INLINE friend Mask operator&(Mask a, Mask b) { return {_kand_mask16(a.lanes, b.lanes)}; }
  SR_KERNEL_INLINE friend Mask operator|(Mask a, Mask b) { return {_kor_mask16(a.lanes, b.lanes)}; }
  SR_KERNEL_INLINE friend Mask operator!(Mask a) { return {_knot_mask16(a.lanes)}; }
};

SR_KERNEL_INLINE Mask operator>(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask(a.lanes, b.lanes, _CMP_GT_OQ)};
}
SR_KERNEL_INLINE Mask operator>=(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask(a.lanes, b.lanes, _CMP_GE_OQ)};
}
SR_KERNEL_INLINE Mask operator<(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask(a.lanes, b.lanes, _CMP_LT_OQ)};
}
SR_KERNEL_INLINE Mask operator<=(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask(a.lanes, b.lanes, _CMP_LE_OQ)};
}
SR_KERNEL_INLINE Mask operator==(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask(a.lanes, b.lanes, _CMP_EQ_OQ)};
}
SR_KERNEL_INLINE Mask operator!=(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask(a.lanes, b.lanes, _CMP_NEQ_UQ)};
}

SR_KERNEL_INLINE Vec select(Mask which, Vec yes, Vec no) {
  return Vec(_mm512_mask_blend_ps(which.lanes, no.lanes, yes.lanes));
}

SR_KERNEL_INLINE Mask first_lanes(std::size_t count) {
  return {static_cast<__mmask16>((1U << count) - 1)};
}
SR_KERNEL_INLINE Vec Vec::load(const float* from, std::size_t count) {
  return Vec(_mm512_maskz_loadu_ps(first_lanes(count).lanes, from));
}
SR_KERNEL_INLINE Vec Vec::load(const float* from, std::size_t count, Vec rest) {
  return Vec(_mm512_mask_loadu_ps(rest.lanes, first_lanes(count).lanes, from));
}
SR_KERNEL_INLINE void Vec::store(float* to, std::size_t count) const {
  _mm512_mask_storeu_ps(to, first_lanes(count).lanes, lanes);
}

SR_KERNEL_INLINE Vec fma(Vec a, Vec b, Vec c) {
  return Vec(_mm512_fmadd_ps(a.lanes, b.lanes, c.lanes));
}

// The forms with a mask, although it is full: g++ 12 warns of something uninitialised within the others.
inline constexpr __mmask16 kAllLanes = 0xffff;

SR_KERNEL_INLINE Vec sqrt(Vec x) {
  return Vec(_mm512_maskz_sqrt_ps(kAllLanes, x.lanes));
}
SR_KERNEL_INLINE Vec first_max(Vec a, Vec b) {
  return Vec(_mm512_maskz_max_ps(kAllLanes, a.lanes, b.lanes));
}
SR_KERNEL_INLINE Vec first_min(Vec a, Vec b) {
  return Vec(_mm512_maskz_min_ps(kAllLanes, a.lanes, b.lanes));
}
// x * 2^power, rounded once; power is a whole number, |power| < 250.
SR_KERNEL_INLINE Vec scale(Vec x, Vec power) {
  return Vec(_mm512_maskz_scalef_ps(kAllLanes, x.lanes, power.lanes));
}
// A power for which scale_by_shifted returns zero, if |x| < 2^10.
inline constexpr float kZeroPower = -160;
// Does what `scale` does; `shifted` is the power plus kShift.
SR_KERNEL_INLINE Vec scale_by_shifted(Vec x, Vec shifted) {
  return scale(x, shifted - kShift);
}

template <int kMode>
SR_KERNEL_INLINE Vec rounded(Vec x) {
  return Vec(_mm512_maskz_roundscale_ps(kAllLanes, x.lanes, kMode | _MM_FROUND_NO_EXC));
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

// Not by _mm512_castps512_ps256, which warns, too.
SR_KERNEL_INLINE __m256 lower_half(Vec x) {
  return __builtin_shufflevector(x.lanes, x.lanes, 0, 1, 2, 3, 4, 5, 6, 7);
}
SR_KERNEL_INLINE __m256 upper_half(Vec x) {
  return __builtin_shufflevector(x.lanes, x.lanes, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Adds up lanes i, i + 4, i + 8, ...
SR_KERNEL_INLINE Quad sum_by_four(Vec x) {
  const __m256 half = _mm256_add_ps(lower_half(x), upper_half(x));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}
SR_KERNEL_INLINE float sum(Vec x) {
  const __m128 quarter = sum_by_four(x);
  const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
SR_KERNEL_INLINE float max(Vec x) {
  const __m256 half = _mm256_max_ps(lower_half(x), upper_half(x));
  const __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  const __m128 pair = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
}

// The lanes of a and b in turn: a0 b0 a1 b1 ..., first and second half.
SR_KERNEL_INLINE Vec zip_low(Vec a, Vec b) {
  const __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  return Vec(_mm512_permutex2var_ps(a.lanes, order, b.lanes));
}
SR_KERNEL_INLINE Vec zip_high(Vec a, Vec b) {
  const __m512i order = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return Vec(_mm512_permutex2var_ps(a.lanes, order, b.lanes));
}

// The lanes of a and then of b at even positions.
SR_KERNEL_INLINE Vec even_lanes(Vec a, Vec b) {
  const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return Vec(_mm512_permutex2var_ps(a.lanes, order, b.lanes));
}

// Interleave in each group of four lanes: those of its first half, of its second; lanes, pairs of lanes.
SR_KERNEL_INLINE Vec unpack_low(Vec a, Vec b) {
  return Vec(_mm512_maskz_unpacklo_ps(kAllLanes, a.lanes, b.lanes));
}
SR_KERNEL_INLINE Vec unpack_high(Vec a, Vec b) {
  return Vec(_mm512_maskz_unpackhi_ps(kAllLanes, a.lanes, b.lanes));
}
SR_KERNEL_INLINE Vec unpack_low_pairs(Vec a, Vec b) {
  return Vec(_mm512_maskz_shuffle_ps(kAllLanes, a.lanes, b.lanes, 0x44));
}
SR_KERNEL_INLINE Vec unpack_high_pairs(Vec a, Vec b) {
  return Vec(_mm512_maskz_shuffle_ps(kAllLanes, a.lanes, b.lanes, 0xee));
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
