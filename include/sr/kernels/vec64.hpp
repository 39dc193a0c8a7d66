// A register of doubles or of 64-bit integers with the operations of Vec that vector ops use. On the vector
// extensions of GCC and Clang, which have all of them but fused multiply-add and rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

using DoubleLanes [[gnu::vector_size(kWidth * 4)]] = double;
using Int64Lanes [[gnu::vector_size(kWidth * 4)]] = std::int64_t;
using Uint64Lanes [[gnu::vector_size(kWidth * 4)]] = std::uint64_t;

// Vectors of 0 and -1.
struct Mask64 {
  Int64Lanes lanes;

  SR_KERNEL_INLINE friend Mask64 operator&(Mask64 a, Mask64 b) { return {a.lanes & b.lanes}; }
  SR_KERNEL_INLINE friend Mask64 operator|(Mask64 a, Mask64 b) { return {a.lanes | b.lanes}; }
  SR_KERNEL_INLINE friend Mask64 operator!(Mask64 a) { return {~a.lanes}; }
};

template <class T>
struct Vec64 {
  using Element = T;
  using Lanes = std::conditional_t<std::is_same_v<T, double>, DoubleLanes, Int64Lanes>;
  static constexpr std::size_t width = kWidth / 2;
  static constexpr bool is_floating = std::is_same_v<T, double>;

  Lanes lanes;

  Vec64() = default;
  SR_KERNEL_INLINE explicit Vec64(Lanes values) : lanes(values) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a constant among vectors has to read like one.
  SR_KERNEL_INLINE Vec64(T value) : lanes(value - Lanes{}) {}

  SR_KERNEL_INLINE static Vec64 load(const T* from) {
    Vec64 result;
    std::memcpy(&result.lanes, from, sizeof(Lanes));
    return result;
  }
  SR_KERNEL_INLINE void store(T* to) const { std::memcpy(to, &lanes, sizeof(Lanes)); }
  // The first `count` < width lanes.
  SR_KERNEL_INLINE static Vec64 load(const T* from, std::size_t count) {
    Vec64 result(Lanes{});
    std::memcpy(&result.lanes, from, count * sizeof(T));
    return result;
  }
  SR_KERNEL_INLINE void store(T* to, std::size_t count) const { std::memcpy(to, &lanes, count * sizeof(T)); }

  // Integers wrap around.
  SR_KERNEL_INLINE friend Vec64 operator+(Vec64 a, Vec64 b) {
    if constexpr (is_floating)
      return Vec64(a.lanes + b.lanes);
    else
      return Vec64(as_signed(as_unsigned(a) + as_unsigned(b)));
  }
  SR_KERNEL_INLINE friend Vec64 operator-(Vec64 a, Vec64 b) {
    if constexpr (is_floating)
      return Vec64(a.lanes - b.lanes);
    else
      return Vec64(as_signed(as_unsigned(a) - as_unsigned(b)));
  }
  SR_KERNEL_INLINE friend Vec64 operator*(Vec64 a, Vec64 b) {
    if constexpr (is_floating)
      return Vec64(unfused(a.lanes * b.lanes));
    else
      return Vec64(as_signed(as_unsigned(a) * as_unsigned(b)));
  }
  SR_KERNEL_INLINE friend Vec64 operator/(Vec64 a, Vec64 b) {
    static_assert(is_floating, "integers are divided by LibTorch, which refuses 0");
    return Vec64(a.lanes / b.lanes);
  }
  SR_KERNEL_INLINE friend Vec64 operator-(Vec64 x) {
    if constexpr (is_floating)
      return Vec64(reinterpret_cast<Lanes>(as_bits(x) ^ INT64_MIN));
    else
      return Vec64(0) - x;
  }

  SR_KERNEL_INLINE friend Mask64 operator>(Vec64 a, Vec64 b) { return {a.lanes > b.lanes}; }
  SR_KERNEL_INLINE friend Mask64 operator>=(Vec64 a, Vec64 b) { return {a.lanes >= b.lanes}; }
  SR_KERNEL_INLINE friend Mask64 operator<(Vec64 a, Vec64 b) { return {a.lanes < b.lanes}; }
  SR_KERNEL_INLINE friend Mask64 operator<=(Vec64 a, Vec64 b) { return {a.lanes <= b.lanes}; }
  SR_KERNEL_INLINE friend Mask64 operator==(Vec64 a, Vec64 b) { return {a.lanes == b.lanes}; }
  SR_KERNEL_INLINE friend Mask64 operator!=(Vec64 a, Vec64 b) { return {a.lanes != b.lanes}; }

  SR_KERNEL_INLINE friend Vec64 select(Mask64 which, Vec64 yes, Vec64 no) {
#if defined(SR_KERNEL_AVX2)
    return Vec64(reinterpret_cast<Lanes>(_mm256_blendv_pd(reinterpret_cast<DoubleLanes>(no.lanes),
                                                          reinterpret_cast<DoubleLanes>(yes.lanes),
                                                          reinterpret_cast<DoubleLanes>(which.lanes))));
#else
    return Vec64(reinterpret_cast<Lanes>((as_bits(yes) & which.lanes) | (as_bits(no) & ~which.lanes)));
#endif
  }
  SR_KERNEL_INLINE friend Mask64 is_nan(Vec64 x) {
    return x != x;
  }
  // a > b ? a : b, so `b` if one is NaN or both are zeros
  SR_KERNEL_INLINE friend Vec64 first_max(Vec64 a, Vec64 b) {
    return Vec64(a.lanes > b.lanes ? a.lanes : b.lanes);
  }
  SR_KERNEL_INLINE friend Vec64 first_min(Vec64 a, Vec64 b) {
    return Vec64(a.lanes < b.lanes ? a.lanes : b.lanes);
  }
  // NaN if one of the two is, as in ATen
  SR_KERNEL_INLINE friend Vec64 maximum(Vec64 a, Vec64 b) {
    return select(is_nan(a), a, first_max(a, b));
  }
  SR_KERNEL_INLINE friend Vec64 minimum(Vec64 a, Vec64 b) {
    return select(is_nan(a), a, first_min(a, b));
  }
  SR_KERNEL_INLINE friend Vec64 abs(Vec64 x) {
    if constexpr (is_floating)
      return Vec64(reinterpret_cast<Lanes>(as_bits(x) & INT64_MAX));
    else
      return select(x < Vec64(0), -x, x);
  }

  SR_KERNEL_INLINE friend Vec64 fma(Vec64 a, Vec64 b, Vec64 c) {
#if defined(SR_KERNEL_AVX512)
    if constexpr (is_floating) return Vec64(_mm512_fmadd_pd(a.lanes, b.lanes, c.lanes));
#elif defined(SR_KERNEL_AVX2)
    if constexpr (is_floating) return Vec64(_mm256_fmadd_pd(a.lanes, b.lanes, c.lanes));
#endif
    return a * b + c;
  }
  SR_KERNEL_INLINE friend Vec64 sqrt(Vec64 x) {
#if defined(SR_KERNEL_AVX512)
    return Vec64(_mm512_maskz_sqrt_pd(0xff, x.lanes));
#elif defined(SR_KERNEL_AVX2)
    return Vec64(_mm256_sqrt_pd(x.lanes));
#else
    return each(x, [](double value) { return __builtin_sqrt(value); });
#endif
  }
  SR_KERNEL_INLINE friend Vec64 floor(Vec64 x) {
    return each(x, [](double value) { return __builtin_floor(value); });
  }
  SR_KERNEL_INLINE friend Vec64 ceil(Vec64 x) {
    return each(x, [](double value) { return __builtin_ceil(value); });
  }
  SR_KERNEL_INLINE friend Vec64 trunc(Vec64 x) {
    return each(x, [](double value) { return __builtin_trunc(value); });
  }
  SR_KERNEL_INLINE friend Vec64 round_even(Vec64 x) {
    return each(x, [](double value) { return __builtin_rint(value); });
  }

 private:
  SR_KERNEL_INLINE static Int64Lanes as_bits(Vec64 x) {
    return reinterpret_cast<Int64Lanes>(x.lanes);
  }
  SR_KERNEL_INLINE static Uint64Lanes as_unsigned(Vec64 x) {
    return reinterpret_cast<Uint64Lanes>(x.lanes);
  }
  SR_KERNEL_INLINE static Int64Lanes as_signed(Uint64Lanes x) {
    return reinterpret_cast<Int64Lanes>(x);
  }
  template <class Function>
  SR_KERNEL_INLINE static Vec64 each(Vec64 x, Function function) {
    for (std::size_t i = 0; i < width; ++i) x.lanes[i] = function(x.lanes[i]);
    return x;
  }
};

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
