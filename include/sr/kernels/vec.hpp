// One register of floats of the instruction set in use, with its masks and integers, on the vector extensions
// of GCC and Clang. What the extensions lack (masked access, fused multiply-add, rounding) is in
// vec_<set>.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sr/kernels/isa.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

#if defined(SR_KERNEL_AVX512)
inline constexpr std::size_t kWidth = 16;
#elif defined(SR_KERNEL_AVX2)
inline constexpr std::size_t kWidth = 8;
#else
inline constexpr std::size_t kWidth = 4;
#endif

inline constexpr float kInfinity = __builtin_inff();
inline constexpr float kNan = __builtin_nanf("");
// For |x| < 2^21, x + kShift is x rounded to a whole number, which the last bits of the sum hold.
inline constexpr float kShift = 0x1.8p23f;

using Floats [[gnu::vector_size(kWidth * 4)]] = float;
using Quad [[gnu::vector_size(16)]] = float;
using Int32s [[gnu::vector_size(kWidth * 4)]] = std::int32_t;
using Uint32s [[gnu::vector_size(kWidth * 4)]] = std::uint32_t;

// Keeps a product from being fused with a following addition, which GCC does by default, whatever the user's
// flags.
template <class Lanes>
SR_KERNEL_INLINE Lanes unfused(Lanes product) {
#if defined(__GNUC__) && !defined(__clang__) && defined(SR_KERNEL_AVX512)
  asm("" : "+v"(product));
#elif defined(__GNUC__) && !defined(__clang__) && defined(__FMA__)
  asm("" : "+x"(product));
#elif defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
  asm("" : "+w"(product));
#endif
  return product;
}

// Clears the upper halves of registers: instructions of the older encoding are slow while they are not zero
// (A. Fog, "The microarchitecture of Intel, AMD and VIA CPUs"). The compiler clears them itself, but not
// after the call of a function that takes such registers.
SR_KERNEL_INLINE void clean_upper_halves() {
#if defined(SR_KERNEL_AVX512) || defined(SR_KERNEL_AVX2)
  __builtin_ia32_vzeroupper();
#endif
}

// Integers that wrap around on overflow.
struct Ints {
  Int32s lanes;

  Ints() = default;
  SR_KERNEL_INLINE explicit Ints(Int32s values) : lanes(values) {}
  SR_KERNEL_INLINE explicit Ints(std::int32_t value) : lanes(Int32s{} + value) {}

  SR_KERNEL_INLINE friend Ints operator+(Ints a, Ints b) {
    return Ints(
        reinterpret_cast<Int32s>(reinterpret_cast<Uint32s>(a.lanes) + reinterpret_cast<Uint32s>(b.lanes)));
  }
  SR_KERNEL_INLINE friend Ints operator-(Ints a, Ints b) {
    return Ints(
        reinterpret_cast<Int32s>(reinterpret_cast<Uint32s>(a.lanes) - reinterpret_cast<Uint32s>(b.lanes)));
  }
  SR_KERNEL_INLINE friend Ints operator&(Ints a, Ints b) { return Ints(a.lanes & b.lanes); }
  SR_KERNEL_INLINE friend Ints operator|(Ints a, Ints b) { return Ints(a.lanes | b.lanes); }
  SR_KERNEL_INLINE friend Ints operator^(Ints a, Ints b) { return Ints(a.lanes ^ b.lanes); }
  SR_KERNEL_INLINE friend Ints operator<<(Ints a, int by) { return Ints(a.lanes << by); }
  SR_KERNEL_INLINE friend Ints operator>>(Ints a, int by) { return Ints(a.lanes >> by); }  // keeps the sign
};

struct Vec {
  using Element = float;
  static constexpr std::size_t width = kWidth;

  Floats lanes;

  Vec() = default;
  SR_KERNEL_INLINE explicit Vec(Floats values) : lanes(values) {}
  // Without adding to zero, which would lose the sign of -0.
  // NOLINTNEXTLINE(google-explicit-constructor): a constant among vectors has to read like one.
  SR_KERNEL_INLINE Vec(float value) : lanes(value - Floats{}) {}

  SR_KERNEL_INLINE static Vec load(const float* from) {
    Vec result;
    std::memcpy(&result.lanes, from, sizeof(Floats));
    return result;
  }
  SR_KERNEL_INLINE void store(float* to) const { std::memcpy(to, &lanes, sizeof(Floats)); }
  // Loads the first `count` < width lanes, and reads nothing behind them. The other lanes are `rest`.
  SR_KERNEL_INLINE static Vec load(const float* from, std::size_t count);
  SR_KERNEL_INLINE static Vec load(const float* from, std::size_t count, Vec rest);
  SR_KERNEL_INLINE void store(float* to, std::size_t count) const;

  SR_KERNEL_INLINE friend Vec operator+(Vec a, Vec b) { return Vec(a.lanes + b.lanes); }
  SR_KERNEL_INLINE friend Vec operator-(Vec a, Vec b) { return Vec(a.lanes - b.lanes); }
  SR_KERNEL_INLINE friend Vec operator*(Vec a, Vec b) { return Vec(unfused(a.lanes * b.lanes)); }
  SR_KERNEL_INLINE friend Vec operator/(Vec a, Vec b) { return Vec(a.lanes / b.lanes); }
};

SR_KERNEL_INLINE Ints bits(Vec x) {
  return Ints(reinterpret_cast<Int32s>(x.lanes));
}
SR_KERNEL_INLINE Vec from_bits(Ints x) {
  return Vec(reinterpret_cast<Floats>(x.lanes));
}
// Truncates.
SR_KERNEL_INLINE Ints to_ints(Vec x) {
  return Ints(__builtin_convertvector(x.lanes, Int32s));
}
SR_KERNEL_INLINE Vec to_floats(Ints x) {
  return Vec(__builtin_convertvector(x.lanes, Floats));
}

SR_KERNEL_INLINE Vec abs(Vec x) {
  return from_bits(bits(x) & Ints(0x7fffffff));
}
SR_KERNEL_INLINE Vec operator-(Vec x) {
  return from_bits(bits(x) ^ Ints(INT32_MIN));
}
SR_KERNEL_INLINE Vec copysign(Vec magnitude, Vec sign) {
  return from_bits((bits(magnitude) & Ints(0x7fffffff)) | (bits(sign) & Ints(INT32_MIN)));
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels

// Each defines Mask with its comparisons and logic, select, partial loads and stores, fma, sqrt, scale and
//   first_max, first_min: a > b ? a : b, so `b` if one is NaN or both are zeros; one instruction on x86
//   round_even, floor, ceil, trunc: -0 stays -0
//   sum, max: over the lanes of one register
#if defined(SR_KERNEL_AVX512)
#include <sr/kernels/vec_avx512.hpp>
#else
#include <sr/kernels/vec_generic.hpp>
#endif

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

SR_KERNEL_INLINE Mask is_nan(Vec x) {
  return x != x;
}

// NaN if one of the two is, as in ATen; of two zeros the second.
SR_KERNEL_INLINE Vec maximum(Vec a, Vec b) {
  return select(is_nan(a), a, first_max(a, b));
}
SR_KERNEL_INLINE Vec minimum(Vec a, Vec b) {
  return select(is_nan(a), a, first_min(a, b));
}

template <std::size_t kValue>
struct Index {
  SR_KERNEL_INLINE constexpr operator std::size_t() const { return kValue; }  // NOLINT: it is that number
};

// Calls body(Index<0>) ... body(Index<kCount - 1>). Arrays that are indexed so are kept in registers at every
// level of optimisation.
template <std::size_t kCount, class Body>
SR_KERNEL_INLINE void unrolled(Body body) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) __attribute__((always_inline)) {
    (body(Index<kIndex>{}), ...);
  }
  (std::make_index_sequence<kCount>{});
}

// Every second element of a, then of b.
template <std::size_t kFirst>
SR_KERNEL_INLINE Vec every_second(Vec a, Vec b) {
  return [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) __attribute__((always_inline)) {
    return Vec(__builtin_shufflevector(a.lanes, b.lanes, static_cast<int>(2 * kIndex + kFirst)...));
  }
  (std::make_index_sequence<kWidth>{});
}

// The sums of the lanes of four registers.
SR_KERNEL_INLINE Quad sums(Vec a, Vec b, Vec c, Vec d) {
  const Vec ab = unpack_low(a, b) + unpack_high(a, b);
  const Vec cd = unpack_low(c, d) + unpack_high(c, d);
  return sum_by_four(unpack_low_pairs(ab, cd) + unpack_high_pairs(ab, cd));
}

// Access to a whole register, or to the first lanes of one at the end of a row.
struct Full {
  static constexpr std::size_t count = kWidth;
  SR_KERNEL_INLINE Vec load(const float* from) const { return Vec::load(from); }
  SR_KERNEL_INLINE Vec load(const float* from, Vec) const { return Vec::load(from); }
  SR_KERNEL_INLINE void store(Vec value, float* to) const { value.store(to); }
  SR_KERNEL_INLINE Vec only(Vec value) const { return value; }
};
struct Part {
  std::size_t count;
  SR_KERNEL_INLINE Vec load(const float* from) const { return Vec::load(from, count); }
  SR_KERNEL_INLINE Vec load(const float* from, Vec rest) const { return Vec::load(from, count, rest); }
  SR_KERNEL_INLINE void store(Vec value, float* to) const { value.store(to, count); }
  SR_KERNEL_INLINE Vec only(Vec value) const { return select(first_lanes(count), value, Vec(0.0f)); }
};

// Access to the first `count` lanes, or to all, outside of loops.
struct AtMost {
  std::size_t count;
  SR_KERNEL_INLINE Vec load(const float* from) const {
    return count == kWidth ? Vec::load(from) : Vec::load(from, count);
  }
  SR_KERNEL_INLINE void store(Vec value, float* to) const {
    if (count == kWidth) return value.store(to);
    if (count != 0) value.store(to, count);
  }
};

// Calls body(i, Full or Part) for every register of a row.
template <class Body>
SR_KERNEL_INLINE void over_row(std::size_t n, Body body) {
  std::size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) body(i, Full{});
  if (i < n) body(i, Part{n - i});
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
