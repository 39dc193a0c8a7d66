// Elementary functions of one register of doubles, by the formulas of math.hpp; logarithms by those of fdlibm
// (Sun Microsystems, 1993). Polynomials without another source are our weighted minimax fits. Special
// values, signed zeros and denormals come out as from libm. tests/kernels/math_of_doubles.cpp states the
// largest errors.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sr/kernels/vec64.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

using Doubles = Vec64<double>;

inline constexpr double kDoubleInfinity = __builtin_inf();
// Added to a small whole number it leaves that in the last bits.
inline constexpr double kWholeInBits = 0x1.8p52;

SR_KERNEL_INLINE Int64Lanes bits(Doubles x) {
  return reinterpret_cast<Int64Lanes>(x.lanes);
}
SR_KERNEL_INLINE Doubles from_bits(Int64Lanes x) {
  return Doubles(reinterpret_cast<DoubleLanes>(x));
}
SR_KERNEL_INLINE Doubles copysign(Doubles magnitude, Doubles sign) {
  return from_bits((bits(magnitude) & INT64_MAX) | (bits(sign) & INT64_MIN));
}

// c0 + x * (c1 + x * (c2 + ...))
SR_KERNEL_INLINE Doubles polynomial(Doubles, double last) {
  return last;
}
template <class... Rest>
SR_KERNEL_INLINE Doubles polynomial(Doubles x, double first, Rest... rest) {
  return fma(x, polynomial(x, rest...), Doubles(first));
}
// c[kFirst] + square * (c[kFirst + 2] + square * (c[kFirst + 4] + ...))
template <std::size_t kFirst, std::size_t kCount>
SR_KERNEL_INLINE Doubles every_second(Doubles square, const double (&c)[kCount]) {
  if constexpr (kFirst + 2 >= kCount) {
    return c[kFirst];
  } else {
    return fma(square, every_second<kFirst + 2>(square, c), Doubles(c[kFirst]));
  }
}
// Computes a polynomial by even and odd powers: half of its steps wait for each other.
template <class... Rest>
SR_KERNEL_INLINE Doubles polynomial_by_parity(Doubles x, Doubles square, Rest... coefficients) {
  const double c[] = {coefficients...};
  return fma(x, every_second<1>(square, c), every_second<0>(square, c));
}

// log(2) in two parts, of which the first has 32 bits: its product with a power is exact without fma, too.
inline constexpr double kLog2High = 0x1.62e42feep-1, kLog2Low = 0x1.a39ef35793c76p-33;

// x = power * log(2) + remainder + lost, |remainder| <= log(2) / 2; |x| < 2^20.
struct ReducedDoubles {
  Doubles power, remainder, lost;
};
SR_KERNEL_INLINE ReducedDoubles reduce_by_log2(Doubles x) {
  const Doubles power = fma(x, Doubles(0x1.71547652b82fep0), Doubles(kWholeInBits)) - kWholeInBits;
  const Doubles near = fma(power, Doubles(-kLog2High), x);
  const Doubles remainder = fma(power, Doubles(-kLog2Low), near);
  return {power, remainder, fma(power, Doubles(-kLog2Low), near - remainder)};
}

// 2^power of a whole number from -1022 to 1023; of -1023 it is 0.
SR_KERNEL_INLINE Doubles power_of_two(Doubles power) {
  return from_bits(bits(power + (kWholeInBits + 1023)) << 52);
}
SR_KERNEL_INLINE Doubles half_of_whole(Doubles power) {
  return fma(power, Doubles(0.5), Doubles(kWholeInBits)) - kWholeInBits;
}

// exp(x) - 1 for |x| <= log(2) / 2, and the derivative is as good as 1 for what was lost.
SR_KERNEL_INLINE Doubles expm1_near_zero(Doubles x, Doubles lost) {
  const Doubles square = x * x;
  const Doubles tail = polynomial_by_parity(
      x, square, 0.5, 0x1.5555555555559p-3, 0x1.555555555555ap-5, 0x1.111111110f6aep-7, 0x1.6c16c16c1445ap-10,
      0x1.a01a01afe5390p-13, 0x1.a01a01b0b4218p-16, 0x1.71ddf85372fcfp-19, 0x1.27e4c5a72c274p-22,
      0x1.af5ebf4f476bap-26, 0x1.1f955957ee395p-29);
  return x + fma(square, tail, lost);
}
SR_KERNEL_INLINE Doubles expm1_near_zero(Doubles x) {
  return expm1_near_zero(x, 0);
}

SR_KERNEL_INLINE Doubles exp(Doubles x) {
  // Clamped to the range of results that neither overflow nor vanish, so that `power` stays small. NaN
  // passes.
  const Doubles inside = first_min(Doubles(710), first_max(Doubles(-746), x));
  const ReducedDoubles reduced = reduce_by_log2(inside);
  // In two steps, of which the first is exact, so that a denormal result is rounded once.
  const Doubles half = half_of_whole(reduced.power);
  const Doubles near = expm1_near_zero(reduced.remainder) + 1.0;
  return near * power_of_two(half) * power_of_two(reduced.power - half);
}

// For -700 < x <= 710, without the sign of zero.
SR_KERNEL_INLINE Doubles expm1_inside(Doubles x) {
  const ReducedDoubles reduced = reduce_by_log2(x);
  // Half of 2^power, since 2^power overflows for the largest x.
  const Doubles half = power_of_two(reduced.power - 1.0);
  const Doubles result = fma(expm1_near_zero(reduced.remainder, reduced.lost), half, half - 0.5);
  return result + result;
}

SR_KERNEL_INLINE Doubles expm1(Doubles x) {
  const Doubles inside = first_min(Doubles(710), first_max(Doubles(-60), x));
  return select(abs(x) < Doubles(0x1p-54), x, expm1_inside(inside));
}

// log(1 + f) + power * log(2), f between sqrt(1/2) - 1 and sqrt(2) - 1: fdlibm's e_log.c.
SR_KERNEL_INLINE Doubles log_of_parts(Doubles f, Doubles power) {
  const Doubles s = f / (f + 2.0);
  const Doubles square = s * s;
  const Doubles series =
      square * polynomial_by_parity(square, square * square, 0x1.5555555555593p-1, 0x1.999999997fa04p-2,
                                    0x1.2492494229359p-2, 0x1.c71c51d8e78afp-3, 0x1.7466496cb03dep-3,
                                    0x1.39a09d078c69fp-3, 0x1.2f112df3e5244p-3);
  const Doubles half_square = f * f * 0.5;
  const Doubles low = fma(power, Doubles(kLog2Low), s * (half_square + series));
  return fma(power, Doubles(kLog2High), f - (half_square - low));
}

// x = 2^power * (1 + f); x normal and positive.
struct PartsOfDoubles {
  Doubles power, f;
};
SR_KERNEL_INLINE PartsOfDoubles parts_of(Doubles x) {
  constexpr std::int64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
  constexpr double kUnbiased = 0x1p52;  // with a small whole number in its last bits
  const Int64Lanes offset = bits(x) + (kOne - kSqrtHalf);
  const auto exponent = reinterpret_cast<Int64Lanes>(reinterpret_cast<Uint64Lanes>(offset) >> 52);
  return {from_bits(exponent | bits(Doubles(kUnbiased))) - (kUnbiased + 1023),
          from_bits((offset & 0xfffffffffffff) + kSqrtHalf) - 1.0};
}

// `result` where x > 0; elsewhere the special values of a logarithm.
SR_KERNEL_INLINE Doubles log_domain(Doubles x, Doubles result) {
  result = select(x < Doubles(kDoubleInfinity), result, x);  // +inf, NaN
  result = select(x > Doubles(0), result, Doubles(-kDoubleInfinity));
  return select(x >= Doubles(0), result, Doubles(__builtin_nan("")));
}

SR_KERNEL_INLINE Doubles log(Doubles x) {
  const Mask64 denormal = x < Doubles(0x1p-1022);
  const PartsOfDoubles parts = parts_of(select(denormal, x * 0x1p54, x));
  const Doubles power = parts.power - select(denormal, Doubles(54), Doubles(0));
  return log_domain(x, log_of_parts(parts.f, power));
}

SR_KERNEL_INLINE Doubles log1p(Doubles x) {
  const Doubles sum = x + 1.0;
  const PartsOfDoubles parts = parts_of(sum);
  // Computes (1 + x) / 2^power - 1 from x again, which restores the digits that `sum` has lost; for large x
  // they do not matter.
  const Doubles inverse = power_of_two(-parts.power);
  const Doubles f = select(sum < Doubles(0x1p60), fma(x, inverse, inverse - 1.0), parts.f);
  const Doubles result = log_domain(sum, log_of_parts(f, parts.power));
  return select(abs(x) < Doubles(0x1p-54), x, result);
}

// With e = exp(-2|x|): (1 - e) / (1 + e), and 1 - 2e / (1 + e) where the first is close to 1. Each of these
// sums is formed from expm1 of the remainder, so that it is rounded once.
SR_KERNEL_INLINE Doubles tanh(Doubles x) {
  const Doubles magnitude = abs(x);
  const ReducedDoubles reduced = reduce_by_log2(first_max(Doubles(-44), magnitude * -2.0));
  const Doubles near = expm1_near_zero(reduced.remainder, reduced.lost);
  const Doubles power = power_of_two(reduced.power);
  const Doubles e = fma(near, power, power);
  const Mask64 large = magnitude > Doubles(0.55);
  const Doubles less = power - 1.0;
  const Doubles difference = fma(near, power, less);
  const Doubles rounded_away = fma(near, power, less - difference);
  const Doubles quotient = select(large, e + e, difference) / fma(near, power, power + 1.0);
  // 1 / (1 + e) is close to 0.68 where anything was rounded away.
  const Doubles result = select(large, 1.0 - quotient, fma(rounded_away, Doubles(-0.68), -quotient));
  return copysign(select(magnitude < Doubles(0x1p-28), magnitude, result), x);
}

// numerator / (1 + exp(-x)), the quotient of two numbers that are both scaled so that neither overflows;
// where x is -infinity the numerator is multiplied by zero. The numerator may not be so small that a division
// by 2^54 loses digits where x > 0.3.
SR_KERNEL_INLINE Doubles logistic(Doubles x, Doubles numerator) {
  const ReducedDoubles reduced = reduce_by_log2(first_min(Doubles(1418.2), first_max(Doubles(-60), -x)));
  const Doubles half = half_of_whole(reduced.power);
  const Doubles first = power_of_two(half);
  const Doubles second = power_of_two(half - reduced.power);
  // In this order: 1 is not lost where it is half of the last place of the exponential.
  const Doubles sum = fma(expm1_near_zero(reduced.remainder), first, second) + first;
  return numerator / sum * second;
}

SR_KERNEL_INLINE Doubles sigmoid(Doubles x) {
  return logistic(x, Doubles(1));
}

// 1 - exp(-g(|x|)) where g = -log(erfc), a smooth function: one polynomial for all x, as for floats.
SR_KERNEL_INLINE Doubles erf(Doubles x) {
  const Doubles magnitude = first_min(Doubles(5.95), abs(x));
  const Doubles square = magnitude * magnitude;
  // 2 / sqrt(pi) less 1 is what the polynomial begins with: adding the 1 by the sum keeps the rounding small.
  const Doubles rest = polynomial_by_parity(
      magnitude, square, 0x1.06eba8214db68p-3, 0x1.45f306dc9c897p-1, 0x1.a4f4e2a1b207cp-4,
      -0x1.39668593d7d03p-6, -0x1.b6b68bee44ae0p-13, 0x1.bca67bd0ddbe7p-10, -0x1.35654f9951db8p-11,
      0x1.b22bc1feee583p-16, 0x1.0e7f9bf1c5839p-14, -0x1.f2afd048e6a42p-16, 0x1.c950dad575b12p-19,
      0x1.7c86892cf83a4p-19, -0x1.d37df115cbdacp-20, 0x1.692a500e019b9p-22, 0x1.2699b6ddd4e26p-23,
      -0x1.306eed3dfa5f4p-23, 0x1.1a531183ac132p-24, -0x1.68231bc716df0p-26, 0x1.5770ef6f507d3p-28,
      -0x1.f34daaf869d90p-31, 0x1.1287ba0713792p-33, -0x1.bbb6e8042bcadp-37, 0x1.f1f7ecacc281ep-41,
      -0x1.5ad4c532c9f86p-45, 0x1.c39f128185c47p-51);
  const Doubles g = fma(magnitude, rest, magnitude);
  const Doubles rounded_away = fma(-magnitude, rest, g - magnitude);
  const ReducedDoubles reduced = reduce_by_log2(-g);
  const Doubles power = power_of_two(reduced.power);
  const Doubles near = expm1_near_zero(reduced.remainder, rounded_away);
  const Doubles result = fma(-near, power, 1.0 - power);
  return copysign(result, x);
}

SR_KERNEL_INLINE Doubles normal_cdf(Doubles x) {
  return fma(erf(x * 0.70710678118654752), Doubles(0.5), Doubles(0.5));
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
