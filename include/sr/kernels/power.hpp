// x to the power of y, by way of doubles: exp2(y * log2(x)) with some 40 bits, so that nearly all results are
// rounded correctly.
#pragma once

#include <cstdint>
#include <cstring>

#include <sr/kernels/math_of_doubles.hpp>
#include <sr/kernels/vec.hpp>
#include <sr/kernels/vec64.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

using HalfFloats [[gnu::vector_size(kWidth * 2)]] = float;

// kHalf 0: the first lanes, 1: the others.
template <std::size_t kHalf>
SR_KERNEL_INLINE Doubles half_as_doubles(Vec x) {
  HalfFloats half;
  std::memcpy(&half, reinterpret_cast<const char*>(&x.lanes) + kHalf * sizeof(half), sizeof(half));
  return Doubles(__builtin_convertvector(half, DoubleLanes));
}
// Rounds each once, to denormals and infinities, too.
SR_KERNEL_INLINE Vec as_floats(Doubles low, Doubles high) {
  Vec result;
  const HalfFloats halves[2] = {__builtin_convertvector(low.lanes, HalfFloats),
                                __builtin_convertvector(high.lanes, HalfFloats)};
  std::memcpy(&result.lanes, halves, sizeof(halves));
  return result;
}

// Returns log2 of a float that is not negative, so it is never denormal here. Computes log2(m) with m near 1
// by the series of atanh, of which seven terms reach 2^-42.
SR_KERNEL_INLINE Doubles log2_of_float(Doubles x) {
  constexpr std::int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const auto bits = reinterpret_cast<Int64Lanes>(x.lanes);
  const Int64Lanes exponent = (bits - kSqrtHalf) >> 52;
  const Doubles m(reinterpret_cast<DoubleLanes>(bits - (exponent << 52)));
  const Int64Lanes whole = exponent + reinterpret_cast<Int64Lanes>(Doubles(kWholeInBits).lanes);
  const Doubles power = Doubles(reinterpret_cast<DoubleLanes>(whole)) - Doubles(kWholeInBits);
  const Doubles s = (m - Doubles(1)) / (m + Doubles(1));
  const Doubles series =
      polynomial(s * s, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15);
  const Doubles result = fma(s * series, Doubles(0x1.71547652b82fep1), power);  // 2 / log(2)
  return select(x == Doubles(0), Doubles(-kDoubleInfinity), select(x < Doubles(kDoubleInfinity), result, x));
}

// For what a float can hold, and beyond it something that becomes 0 or infinity there. NaN passes.
SR_KERNEL_INLINE Doubles exp2_to_float(Doubles x) {
  x = first_min(Doubles(200), first_max(Doubles(-200), x));
  const Doubles whole = x + Doubles(kWholeInBits);
  const Doubles rest = (x - (whole - Doubles(kWholeInBits))) * Doubles(0x1.62e42fefa39efp-1);  // log(2)
  const Doubles power = polynomial(rest, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720,
                                   1.0 / 5040, 1.0 / 40320, 1.0 / 362880);
  const Int64Lanes exponent = reinterpret_cast<Int64Lanes>(whole.lanes) << 52;
  const Doubles scaled(reinterpret_cast<DoubleLanes>(reinterpret_cast<Int64Lanes>(power.lanes) + exponent));
  return select(is_nan(x), x, scaled);
}

template <std::size_t kHalf>
SR_KERNEL_INLINE Doubles pow_of_half(Vec magnitude, Vec y) {
  return exp2_to_float(half_as_doubles<kHalf>(y) * log2_of_float(half_as_doubles<kHalf>(magnitude)));
}

// With the special cases of C's pow.
SR_KERNEL_INLINE Vec pow(Vec x, Vec y) {
  const Vec magnitude = abs(x);
  Vec result = as_floats(pow_of_half<0>(magnitude, y), pow_of_half<1>(magnitude, y));
  const Vec half = y * Vec(0.5f);
  const Mask is_whole = floor(y) == y;
  const Mask is_odd = is_whole & (floor(half) != half);
  const Vec sign = copysign(Vec(1.0f), x);
  result = select(is_odd, copysign(result, x), result);
  const Mask is_undefined = (x < Vec(0.0f)) & (x > Vec(-kInfinity)) & !is_whole & !is_nan(y);
  result = select(is_undefined, Vec(kNan), result);
  // 1 to any power, any number to 0, -1 to an infinite power.
  const Mask is_one =
      (x == Vec(1.0f)) | (y == Vec(0.0f)) | ((magnitude == Vec(1.0f)) & (abs(y) == Vec(kInfinity)));
  return select(is_one & !(is_odd & (sign < Vec(0.0f))), Vec(1.0f), result);
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
