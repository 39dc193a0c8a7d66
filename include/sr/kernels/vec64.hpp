// A register of doubles or of 64-bit integers, with what the lanes of arithmetic, comparison and choice ask
// of Vec. On the vector extensions of GCC and Clang, which have all of it but fused multiply-add and
// rounding.
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
struct WideMask {
  Int64Lanes lanes;

  SR_KERNEL_INLINE friend WideMask operator&(WideMask a, WideMask b) { return {a.lanes & b.lanes}; }
  SR_KERNEL_INLINE friend WideMask operator|(WideMask a, WideMask b) { return {a.lanes | b.lanes}; }
  SR_KERNEL_INLINE friend WideMask operator!(WideMask a) { return {~a.lanes}; }
};

template <class T>
struct Wide {
  using Element = T;
  using Lanes = std::conditional_t<std::is_same_v<T, double>, DoubleLanes, Int64Lanes>;
  static constexpr std::size_t width = kWidth / 2;
  static constexpr bool is_floating = std::is_same_v<T, double>;

  Lanes lanes;

  Wide() = default;
  SR_KERNEL_INLINE explicit Wide(Lanes values) : lanes(values) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a constant among vectors has to read like one.
  SR_KERNEL_INLINE Wide(T value) : lanes(value - Lanes{}) {}

  SR_KERNEL_INLINE static Wide load(const T* from) {
    Wide result;
    std::memcpy(&result.lanes, from, sizeof(Lanes));
    return result;
  }
  SR_KERNEL_INLINE void store(T* to) const { std::memcpy(to, &lanes, sizeof(Lanes)); }
  // The first `count` < width lanes.
  SR_KERNEL_INLINE static Wide load(const T* from, std::size_t count) {
    Wide result(Lanes{});
    std::memcpy(&result.lanes, from, count * sizeof(T));
    return result;
  }
  SR_KERNEL_INLINE void store(T* to, std::size_t count) const { std::memcpy(to, &lanes, count * sizeof(T)); }

  // Integers wrap around.
  SR_KERNEL_INLINE friend Wide operator+(Wide a, Wide b) {
    if constexpr (is_floating)
      return Wide(a.lanes + b.lanes);
    else
      return Wide(as_signed(as_unsigned(a) + as_unsigned(b)));
  }
  SR_KERNEL_INLINE friend Wide operator-(Wide a, Wide b) {
    if constexpr (is_floating)
      return Wide(a.lanes - b.lanes);
    else
      return Wide(as_signed(as_unsigned(a) - as_unsigned(b)));
  }
  SR_KERNEL_INLINE friend Wide operator*(Wide a, Wide b) {
    if constexpr (is_floating)
      return Wide(unfused(a.lanes * b.lanes));
    else
      return Wide(as_signed(as_unsigned(a) * as_unsigned(b)));
  }
  SR_KERNEL_INLINE friend Wide operator/(Wide a, Wide b) {
    static_assert(is_floating, "integers are divided by LibTorch, which refuses 0");
    return Wide(a.lanes / b.lanes);
  }
  SR_KERNEL_INLINE friend Wide operator-(Wide x) {
    if constexpr (is_floating)
      return Wide(reinterpret_cast<Lanes>(as_bits(x) ^ INT64_MIN));
    else
      return Wide(0) - x;
  }

  SR_KERNEL_INLINE friend WideMask operator>(Wide a, Wide b) { return {a.lanes > b.lanes}; }
  SR_KERNEL_INLINE friend WideMask operator>=(Wide a, Wide b) { return {a.lanes >= b.lanes}; }
  SR_KERNEL_INLINE friend WideMask operator<(Wide a, Wide b) { return {a.lanes < b.lanes}; }
  SR_KERNEL_INLINE friend WideMask operator<=(Wide a, Wide b) { return {a.lanes <= b.lanes}; }
  SR_KERNEL_INLINE friend WideMask operator==(Wide a, Wide b) { return {a.lanes == b.lanes}; }
  SR_KERNEL_INLINE friend WideMask operator!=(Wide a, Wide b) { return {a.lanes != b.lanes}; }

  SR_KERNEL_INLINE friend Wide select(WideMask which, Wide yes, Wide no) {
#if defined(SR_KERNEL_AVX2)
    return Wide(reinterpret_cast<Lanes>(_mm256_blendv_pd(reinterpret_cast<DoubleLanes>(no.lanes),
                                                         reinterpret_cast<DoubleLanes>(yes.lanes),
                                                         reinterpret_cast<DoubleLanes>(which.lanes))));
#else
    return Wide(reinterpret_cast<Lanes>((as_bits(yes) & which.lanes) | (as_bits(no) & ~which.lanes)));
#endif
  }
  SR_KERNEL_INLINE friend WideMask is_nan(Wide x) {
    return x != x;
  }
  // a > b ? a : b, so `b` if one is NaN or both are zeros
  SR_KERNEL_INLINE friend Wide first_max(Wide a, Wide b) {
    return Wide(a.lanes > b.lanes ? a.lanes : b.lanes);
  }
  SR_KERNEL_INLINE friend Wide first_min(Wide a, Wide b) {
    return Wide(a.lanes < b.lanes ? a.lanes : b.lanes);
  }
  // NaN if one of the two is, as in ATen
  SR_KERNEL_INLINE friend Wide maximum(Wide a, Wide b) {
    return select(is_nan(a), a, first_max(a, b));
  }
  SR_KERNEL_INLINE friend Wide minimum(Wide a, Wide b) {
    return select(is_nan(a), a, first_min(a, b));
  }
  SR_KERNEL_INLINE friend Wide abs(Wide x) {
    if constexpr (is_floating)
      return Wide(reinterpret_cast<Lanes>(as_bits(x) & INT64_MAX));
    else
      return select(x < Wide(0), -x, x);
  }

  SR_KERNEL_INLINE friend Wide fma(Wide a, Wide b, Wide c) {
#if defined(SR_KERNEL_AVX512)
    if constexpr (is_floating) return Wide(_mm512_fmadd_pd(a.lanes, b.lanes, c.lanes));
#elif defined(SR_KERNEL_AVX2)
    if constexpr (is_floating) return Wide(_mm256_fmadd_pd(a.lanes, b.lanes, c.lanes));
#endif
    return a * b + c;
  }
  SR_KERNEL_INLINE friend Wide sqrt(Wide x) {
#if defined(SR_KERNEL_AVX512)
    return Wide(_mm512_maskz_sqrt_pd(0xff, x.lanes));
#elif defined(SR_KERNEL_AVX2)
    return Wide(_mm256_sqrt_pd(x.lanes));
#else
    return each(x, [](double value) { return __builtin_sqrt(value); });
#endif
  }
  SR_KERNEL_INLINE friend Wide floor(Wide x) {
    return each(x, [](double value) { return __builtin_floor(value); });
  }
  SR_KERNEL_INLINE friend Wide ceil(Wide x) {
    return each(x, [](double value) { return __builtin_ceil(value); });
  }
  SR_KERNEL_INLINE friend Wide trunc(Wide x) {
    return each(x, [](double value) { return __builtin_trunc(value); });
  }
  SR_KERNEL_INLINE friend Wide round_even(Wide x) {
    return each(x, [](double value) { return __builtin_rint(value); });
  }

 private:
  SR_KERNEL_INLINE static Int64Lanes as_bits(Wide x) {
    return reinterpret_cast<Int64Lanes>(x.lanes);
  }
  SR_KERNEL_INLINE static Uint64Lanes as_unsigned(Wide x) {
    return reinterpret_cast<Uint64Lanes>(x.lanes);
  }
  SR_KERNEL_INLINE static Int64Lanes as_signed(Uint64Lanes x) {
    return reinterpret_cast<Int64Lanes>(x);
  }
  template <class Function>
  SR_KERNEL_INLINE static Wide each(Wide x, Function function) {
    for (std::size_t i = 0; i < width; ++i) x.lanes[i] = function(x.lanes[i]);
    return x;
  }
};

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
