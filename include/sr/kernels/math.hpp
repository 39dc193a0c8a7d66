// Elementary functions of one register of floats. Argument reduction as in Cody and Waite, "Software Manual
// for the Elementary Functions"; polynomials are our weighted minimax fits. Special values, signed
// zeros and denormals come out as from libm. The largest errors are stated in tests/exhaustive/bounds.hpp;
// ./dev test exhaustive measures them on all 2^32 arguments.
#pragma once

#include <sr/kernels/vec.hpp>

namespace sr::kernels {
inline namespace SR_KERNEL_ISA {

// c0 + x * (c1 + x * (c2 + ...))
template <class... Rest>
SR_KERNEL_INLINE Vec polynomial([[maybe_unused]] Vec x, float first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return Vec(first);
  } else {
    return fma(x, polynomial(x, rest...), Vec(first));
  }
}

// x = power * log(2) + remainder, |remainder| <= log(2) / 2; |x| < 2^20.
struct Reduced {
  Vec power, remainder;
};
SR_KERNEL_INLINE Reduced reduce_by_log2(Vec x) {
  const Vec power = fma(x, Vec(0x1.715476p0f), Vec(kShift)) - kShift;
  // log(2) in two parts, of which the first has 9 bits: its product with `power` is exact without fma, too.
  const Vec near = fma(power, Vec(-0x1.63p-1f), x);
  return {power, fma(power, Vec(0x1.bd0106p-13f), near)};
}

// exp(x) - 1 for |x| <= log(2) / 2.
SR_KERNEL_INLINE Vec expm1_near_zero(Vec x) {
  const Vec tail =
      polynomial(x, 0.5f, 0.166666657f, 0.0416664928f, 0.00833354332f, 0.00139323878f, 0.000197644331f);
  return fma(x * x, tail, x);
}

// Computes that polynomial by pairs (G. Estrin, 1960): calls on few elements wait for the chain of its
// operations. It is rounded once more, which is too much where nothing else is added to the error.
SR_KERNEL_INLINE Vec expm1_near_zero_by_pairs(Vec x) {
  const Vec square = x * x;
  const Vec low =
      fma(square, polynomial(x, 0.0416664928f, 0.00833354332f), polynomial(x, 0.5f, 0.166666657f));
  const Vec tail = fma(square * square, polynomial(x, 0.00139323878f, 0.000197644331f), low);
  return fma(square, tail, x);
}

SR_KERNEL_INLINE Vec exp(Vec x) {
  // Clamped to the range of results that neither overflow nor vanish, so that `power` stays small. NaN
  // passes.
  const Vec inside = first_min(Vec(100.0f), first_max(Vec(-110.0f), x));
  const Reduced reduced = reduce_by_log2(inside);
  return scale(expm1_near_zero(reduced.remainder) + 1.0f, reduced.power);
}

// x = power + remainder, |remainder| <= 1/2; shifted = power + kShift.
struct ReducedBase2 {
  Vec shifted, remainder;
};
SR_KERNEL_INLINE ReducedBase2 reduce_base_2(Vec x) {
  const Vec shifted = x + kShift;
  return {shifted, x - (shifted - kShift)};
}

// (2^x - 1) / x for |x| <= 1/2.
SR_KERNEL_INLINE Vec exp2_slope(Vec x) {
  return polynomial(x, 0.693147182f, 0.240226477f, 0.0555033237f, 0.00961843692f, 0.00133988773f,
                    0.000153533707f);
}

// 2^x for x <= 0, and zero where that is no normal number. NaN passes.
SR_KERNEL_INLINE Vec exp2_of_negative(Vec x) {
  const ReducedBase2 reduced = reduce_base_2(first_max(Vec(kZeroPower), x));
  return scale_by_shifted(fma(reduced.remainder, exp2_slope(reduced.remainder), Vec(1.0f)), reduced.shifted);
}

// For -50 < x <= 89, without the sign of zero.
SR_KERNEL_INLINE Vec expm1_inside(Vec x) {
  const Reduced reduced = reduce_by_log2(x);
  const Vec near = expm1_near_zero(reduced.remainder);
  // Half of 2^power, since 2^power overflows for the largest x.
  const Vec half = from_bits((to_ints(reduced.power) + Ints(126)) << 23);
  const Vec result = fma(near, half, half - 0.5f);
  return result + result;
}

SR_KERNEL_INLINE Vec expm1(Vec x) {
  const Vec inside = first_min(Vec(89.0f), first_max(Vec(-30.0f), x));
  return select(abs(x) < Vec(0x1p-26f), x, expm1_inside(inside));
}

// log(1 + f) + power * log(2), f between sqrt(1/2) - 1 and sqrt(2) - 1.
SR_KERNEL_INLINE Vec log_of_parts(Vec f, Vec power) {
  const Vec tail = polynomial(f, 0.333333313f, -0.250008196f, 0.200012416f, -0.166234091f, 0.142015815f,
                              -0.131596133f, 0.127621979f, -0.0763639584f);
  const Vec square = f * f;
  Vec low = f * square * tail;
  low = fma(power, Vec(-0x1.bd0106p-13f), low);
  low = fma(square, Vec(-0.5f), low);
  return fma(power, Vec(0x1.63p-1f), f + low);
}

// x = 2^power * (1 + f); x normal and positive.
struct Parts {
  Ints power;
  Vec f;
};
SR_KERNEL_INLINE Parts parts_of(Vec x) {
  const Ints sqrt_half(0x3f3504f3);
  const Ints offset = bits(x) - sqrt_half;
  return {offset >> 23, from_bits((offset & Ints(0x7fffff)) + sqrt_half) - 1.0f};
}

// `result` where x > 0; elsewhere the special values of a logarithm.
SR_KERNEL_INLINE Vec log_domain(Vec x, Vec result) {
  result = select(x < Vec(kInfinity), result, x);  // +inf, NaN
  result = select(x > Vec(0.0f), result, Vec(-kInfinity));
  return select(x >= Vec(0.0f), result, Vec(kNan));
}

SR_KERNEL_INLINE Vec log(Vec x) {
  const Mask denormal = x < Vec(0x1p-126f);
  const Parts parts = parts_of(select(denormal, x * 0x1p25f, x));
  const Vec power = to_floats(parts.power) - select(denormal, Vec(25.0f), Vec(0.0f));
  return log_domain(x, log_of_parts(parts.f, power));
}

SR_KERNEL_INLINE Vec log1p(Vec x) {
  const Vec sum = x + 1.0f;
  const Parts parts = parts_of(sum);
  // Computes (1 + x) / 2^power - 1 from x again, which restores the digits that `sum` has lost; for large x
  // they do not matter.
  const Vec inverse = from_bits((Ints(127) - parts.power) << 23);
  const Vec f = select(sum < Vec(0x1p26f), fma(x, inverse, inverse - 1.0f), parts.f);
  const Vec result = log_domain(sum, log_of_parts(f, to_floats(parts.power)));
  return select(abs(x) < Vec(0x1p-26f), x, result);
}

// With e = exp(-2|x|): (1 - e) / (1 + e), and 1 - 2e / (1 + e) where the first is close to 1. Each of these
// sums is formed from expm1 of the remainder, so that it is rounded once.
SR_KERNEL_INLINE Vec tanh(Vec x) {
  const Vec magnitude = abs(x);
  const Reduced reduced = reduce_by_log2(first_max(Vec(-22.0f), magnitude * -2.0f));
  const Vec near = expm1_near_zero(reduced.remainder);
  const Vec power = from_bits((to_ints(reduced.power) + Ints(127)) << 23);
  const Vec e = fma(near, power, power);
  const Mask large = magnitude > Vec(0.55f);
  const Vec quotient = select(large, e + e, fma(near, power, power - 1.0f)) / fma(near, power, power + 1.0f);
  const Vec result = select(large, Vec(1.0f), Vec(0.0f)) - quotient;
  return copysign(select(magnitude < Vec(0x1p-14f), magnitude, result), x);
}

// 1 / (1 + exp(-x)) = scale / sum, both scaled so that neither overflows; scale is a power of two, or zero
// where the quotient is less than any number.
struct LogisticParts {
  Vec sum, scale;
};
SR_KERNEL_INLINE LogisticParts logistic_parts(Vec x) {
  const Reduced reduced = reduce_by_log2(first_min(Vec(176.0f), first_max(Vec(-30.0f), -x)));
  const Ints power = to_ints(reduced.power);
  const Ints half = power >> 1;
  const Vec first = from_bits((half + Ints(127)) << 23);
  const Vec second = from_bits((half - power + Ints(127)) << 23);
  // In this order: 1 is not lost where it is half of the last place of the exponential.
  return {fma(expm1_near_zero_by_pairs(reduced.remainder), first, second) + first, second};
}

SR_KERNEL_INLINE Vec sigmoid(Vec x) {
  const LogisticParts parts = logistic_parts(x);
  return parts.scale / parts.sum;
}

// numerator * sigmoid(x); where x is -infinity the numerator is multiplied by zero. It may not be so small
// that a division by 2^22 loses digits where x > 0.3.
SR_KERNEL_INLINE Vec logistic(Vec x, Vec numerator) {
  const LogisticParts parts = logistic_parts(x);
  return numerator / parts.sum * parts.scale;
}

// log(erfc(|x|)), a smooth function: one polynomial for all x (the substitution is N. Juffa's, who uses it
// for the larger x), taken at -|x|.
SR_KERNEL_INLINE Vec log_erfc(Vec of) {
  const Vec x = first_max(Vec(-3.95f), -abs(of));
  // 2 / sqrt(pi) less 1 is what the polynomial begins with: adding the 1 by the sum keeps the rounding small.
  const Vec rest = polynomial(x, 0.128379167f, -0.636619508f, 0.102776878f, 0.0191499833f, -0.000165482372f,
                              -0.00167163473f, -0.000635141274f, -0.000118235235f, -9.31756949e-06f);
  return fma(x, rest, x);
}

// 1 - exp(-g(|x|)) with the sign of x.
SR_KERNEL_INLINE Vec erf(Vec x) {
  const Vec minus_g = log_erfc(x);
  return copysign(select(abs(x) < Vec(0x1p-26f), minus_g, expm1_inside(minus_g)), x);
}

// The cumulative distribution function of the standard normal distribution, 1/2 + erf(x / sqrt(2)) / 2. Its
// absolute error is about 2^-25, so that it is zero for x < -5.6. A polynomial in -|x| approximates
// log2(1 - erf(|x| / sqrt(2))) for all x, because that function is smooth.
SR_KERNEL_INLINE Vec normal_cdf(Vec x) {
  const Vec tail = first_max(Vec(-5.6f), -abs(x));
  // The first coefficient is given less 1, as in log_erfc.
  const Vec rest = polynomial(tail, 0.15110521f, -0.45920819f, 0.0524961799f, 0.00706342002f, 0.000136936302f,
                              -0.000186180332f, -3.93777264e-05f, -2.8349175e-06f);
  const ReducedBase2 reduced = reduce_base_2(fma(tail, rest, tail));
  const Vec half = from_bits((bits(reduced.shifted) + Ints(126)) << 23);  // of 2^power
  const Vec below_half = fma(reduced.remainder * exp2_slope(reduced.remainder), half, half - 0.5f);
  return Vec(0.5f) + copysign(below_half, x);
}

}  // namespace SR_KERNEL_ISA
}  // namespace sr::kernels
