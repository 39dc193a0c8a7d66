// Makes floats or 8-bit integers of the sums of a convolution of integers; see Int8Finish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sr/kernels/int8_images.hpp>
#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)

// What the sums at the channels of a register become.
struct ResultLanes {
  Vec factor, bias;
  Ints start;  // that sums begin at: minus the zero point times the sum of the weights

  SR_KERNEL_INLINE static Ints start_of(std::int32_t zero, Ints sums_of_weights) {
    return Ints(0) - Ints(sums_of_weights.lanes * Ints(zero).lanes);
  }
};

// Rounds to the nearest integers, ties to even.
SR_KERNEL_INLINE Ints rounded_ints(Vec x) {
#if defined(SR_KERNEL_AVX512)
  return Ints(reinterpret_cast<Int32s>(_mm512_maskz_cvtps_epi32(kAllLanes, x.lanes)));
#else
  return Ints(reinterpret_cast<Int32s>(_mm256_cvtps_epi32(x.lanes)));
#endif
}

// One register of bytes, widened.
template <bool kSigned>
SR_KERNEL_INLINE Ints widen_bytes(__m128i bytes) {
#if defined(SR_KERNEL_AVX512)
  return Ints(reinterpret_cast<Int32s>(kSigned ? _mm512_maskz_cvtepi8_epi32(kAllLanes, bytes)
                                               : _mm512_maskz_cvtepu8_epi32(kAllLanes, bytes)));
#else
  return Ints(reinterpret_cast<Int32s>(kSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes)));
#endif
}
// The lower bytes of the lanes.
SR_KERNEL_INLINE __m128i low_bytes(Ints lanes) {
#if defined(SR_KERNEL_AVX512)
  return _mm512_maskz_cvtepi32_epi8(kAllLanes, reinterpret_cast<__m512i>(lanes.lanes));
#else
  const __m256i picked =
      _mm256_shuffle_epi8(reinterpret_cast<__m256i>(lanes.lanes),
                          _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4,
                                           8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  return _mm_unpacklo_epi32(_mm256_castsi256_si128(picked), _mm256_extracti128_si256(picked, 1));
#endif
}

SR_KERNEL_INLINE __m128i load_bytes(const void* from, Full) {
  __m128i bytes{};
  std::memcpy(&bytes, from, kWidth);
  return bytes;
}
SR_KERNEL_INLINE __m128i load_bytes(const void* from, Part part) {
#if defined(SR_KERNEL_AVX512)
  return _mm_maskz_loadu_epi8(first_lanes(part.count).lanes, from);
#else
  __m128i bytes{};
  std::memcpy(&bytes, from, part.count);
  return bytes;
#endif
}
SR_KERNEL_INLINE void store_bytes(__m128i bytes, void* to, Full) {
  std::memcpy(to, &bytes, kWidth);
}
SR_KERNEL_INLINE void store_bytes(__m128i bytes, void* to, Part part) {
#if defined(SR_KERNEL_AVX512)
  _mm_mask_storeu_epi8(to, first_lanes(part.count).lanes, bytes);
#else
  std::memcpy(to, &bytes, part.count);
#endif
}

// The function of a convolution's results, with what it needs in registers.
template <bool kBytes, Int8Finish::Added kKind>
struct Finisher {
  const Int8Finish& finish;
  Vec scale, least, most, added_zero, added_scale;
  Ints zero;

  // Bytes are bounded before the zero point is added, so that they are whole numbers of 32 bits then.
  SR_KERNEL_INLINE explicit Finisher(const Int8Finish& of)
      : finish(of),
        scale(of.scale),
        least(kBytes ? of.least - static_cast<float>(of.zero) : of.least),
        most(kBytes ? of.most - static_cast<float>(of.zero) : of.most),
        added_zero(of.added_zero),
        added_scale(of.added_scale),
        zero(of.zero) {}

  template <class Access>
  SR_KERNEL_INLINE Vec added(std::ptrdiff_t at, Access access) const {
    if constexpr (kKind == Int8Finish::Added::floats) {
      return access.load(static_cast<const float*>(finish.added) + at);
    } else {
      const __m128i bytes = load_bytes(static_cast<const std::uint8_t*>(finish.added) + at, access);
      return (to_floats(widen_bytes<kKind == Int8Finish::Added::int8>(bytes)) - added_zero) * added_scale;
    }
  }
  // The result of a sum, at element `at` of `out`: a float, which to_bytes() makes a byte's value.
  template <class Access>
  SR_KERNEL_INLINE Vec of(const ResultLanes& lanes, Ints sum, std::ptrdiff_t at, Access access) const {
    Vec result = to_floats(sum) * lanes.factor + lanes.bias;
    if constexpr (kKind != Int8Finish::Added::none) result = result + added(at, access);
    if constexpr (kBytes) result = result * scale;
    return first_min(most, first_max(least, result));  // NaN passes
  }
  SR_KERNEL_INLINE Ints to_bytes(Vec result) const { return rounded_ints(result) + zero; }
  template <class Access>
  SR_KERNEL_INLINE void write(const ResultLanes& lanes, Ints sum, std::ptrdiff_t at, Access access) const {
    const Vec result = of(lanes, sum, at, access);
    if constexpr (kBytes) {
      store_bytes(low_bytes(to_bytes(result)), static_cast<std::uint8_t*>(finish.out) + at, access);
    } else {
      access.store(result, static_cast<float*>(finish.out) + at);
    }
  }
};

// Calls body with the Finisher for the description.
template <class Body>
SR_KERNEL_INLINE void with_finisher(const Int8Finish& finish, Body body) {
  using Added = Int8Finish::Added;
  const auto of_kind = [&]<bool kBytes>(std::bool_constant<kBytes>) __attribute__((always_inline)) {
    switch (finish.kind) {
      case Added::none:
        return body(Finisher<kBytes, Added::none>(finish));
      case Added::floats:
        return body(Finisher<kBytes, Added::floats>(finish));
      case Added::uint8:
        return body(Finisher<kBytes, Added::uint8>(finish));
      case Added::int8:
        return body(Finisher<kBytes, Added::int8>(finish));
    }
  };
  if (finish.to_bytes) return of_kind(std::true_type{});
  of_kind(std::false_type{});
}

// Quantizes n floats to bytes. Applies the operations in the order that `finish` states, so that NaN becomes
// the same byte as in LibTorch's conversion.
inline void quantize_floats(std::size_t n, const float* from, const Int8Finish& finish) {
  const Vec scale(finish.scale), zero(static_cast<float>(finish.zero)), least(finish.least),
      most(finish.most);
  auto* const to = static_cast<std::uint8_t*>(finish.out);
  over_row(
      n, [&](std::size_t i, auto part) __attribute__((always_inline)) {
        const Vec result = round_even(part.load(from + i) * scale) + zero;
        store_bytes(low_bytes(to_ints(first_min(most, first_max(least, result)))), to + i, part);
      });
}
inline constexpr auto* kQuantizeFloats = &quantize_floats;
#else
inline constexpr void (*kQuantizeFloats)(std::size_t n, const float* from,
                                         const Int8Finish& finish) = nullptr;
#endif

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
