// The function of every vector op in double precision, the largest allowed error, and the exceptions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include <sr/kernels/vector_ops.hpp>

#include "exhaustive/row.hpp"

namespace sr::exhaustive {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Returns the second of two zeros, as ATen does.
inline double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? double{kNaN} : a > b ? a : b;
}
inline double smaller(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? double{kNaN} : a < b ? a : b;
}
inline double sign(double x) {
  return std::isnan(x) ? x : static_cast<double>(x > 0) - static_cast<double>(x < 0);
}
// ATen computes the difference of the ends, and one minus the weight, as floats.
inline double lerp(double begin, double end, double weight) {
  const float difference = static_cast<float>(end) - static_cast<float>(begin);
  if (std::fabs(weight) < 0.5) return begin + weight * difference;
  return end + double{static_cast<float>(weight) - 1} * difference;
}
inline float rounded_lerp(float begin, float end, float weight) {
  const float difference = end - begin;
  if (std::fabs(weight) < 0.5f) return begin + static_cast<float>(double{weight} * difference);
  return end + static_cast<float>(double{weight - 1} * difference);
}
// The two neighbours of a float in bfloat16 are equally near.
inline double to_bfloat16(double x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  const std::uint32_t below = bits & 0xffff, even = bits >> 16 & 1;
  const std::uint32_t upper = (bits >> 16) + (below + even > 0x8000 ? 1 : 0);
  return std::isnan(x) ? x : double{std::bit_cast<float>(upper << 16)};
}
// A float16 has 10 bits of fraction down to 2^-14, and steps of 2^-24 below; from 65520 on it is infinite.
inline double to_float16(double x) {
  if (!std::isfinite(x) || x == 0) return x;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  const double rounded = std::copysign(std::nearbyint(x / step) * step, x);
  return std::fabs(rounded) < 65536 ? rounded : std::copysign(double{kInfinity}, x);
}
// ATen computes x * beta as a float. Its exponential is a float too and may overflow; from there on the truth
// is exact.
inline double softplus(double x, double beta, double threshold) {
  const auto scaled = static_cast<float>(x * beta);
  if (scaled > threshold) return x;
  const double power = std::exp(double{scaled});
  return (std::isinf(static_cast<float>(power)) ? double{kInfinity} : std::log1p(power)) / beta;
}

// A correctly rounded result has an error of 0.5. hardswish, cube and rsqrt exceed 1 because they have ATen's
// two or three roundings. gelu_tanh and softplus exceed 2 because an intermediate argument (of the quotient,
// of the logarithm) is rounded.
inline constexpr std::array kRows = [] {
  using namespace kernels::vector_ops;
  using std::numbers::inv_sqrtpi;
  using std::numbers::sqrt2;
  return std::array{
      row<Add>("add", 0.5, [](double x, double y) { return x + y; }),
      row<Sub>("sub", 0.5, [](double x, double y) { return x - y; }),
      row<Mul>("mul", 0.5, [](double x, double y) { return x * y; }),
      row<Div>("div", 0.5, [](double x, double y) { return x / y; }),
      // Fused, or with the product rounded first: ATen's choice depends on the instruction set and the
      // position.
      row_with_two<AddScaled>(
          "add_scaled", 0.5, [](double x, double y, double alpha) { return x + y * alpha; },
          [](float x, float y, float alpha) { return x + static_cast<float>(double{y} * alpha); }),
      row_with_two<SubScaled>(
          "sub_scaled", 0.5, [](double x, double y, double alpha) { return x - y * alpha; },
          [](float x, float y, float alpha) { return x - static_cast<float>(double{y} * alpha); }),
      row<AddRelu>("add_relu", 0.5, [](double x, double y) { return larger(0, x + y); }),
      // The maximum with zero of the rounded product, which may be a zero of either sign.
      row<MulRelu>("mul_relu", 0, [](double x, double y) { return larger(0, static_cast<float>(x * y)); }),
      row<Maximum>("maximum", 0, [](double x, double y) { return larger(x, y); }),
      row<Minimum>("minimum", 0, [](double x, double y) { return smaller(x, y); }),
      row<ClampMin>("clamp_min", 0, [](double x, double low) { return larger(low, x); }),
      row<ClampMax>("clamp_max", 0, [](double x, double high) { return smaller(high, x); }),
      row<Clamp>("clamp", 0, [](double x, double low, double high) { return smaller(high, larger(low, x)); }),
      row<Relu>("relu", 0, [](double x) { return larger(0, x); }),
      row<LeakyRelu>("leaky_relu", 0.5, [](double x, double slope) { return x > 0 ? x : x * slope; }),
      row<Threshold>("threshold", 0, [](double x, double low, double value) { return x <= low ? value : x; }),
      row<Hardsigmoid>("hardsigmoid", 1, [](double x) { return smaller(6, larger(0, x + 3)) / 6; }),
      row<Hardswish>("hardswish", 2, [](double x) { return x * smaller(6, larger(0, x + 3)) / 6; }),
      row<Equal>("equal", 0, [](double x, double y) { return x == y ? 1.0 : 0.0; }),
      row<NotEqual>("not_equal", 0, [](double x, double y) { return x != y ? 1.0 : 0.0; }),
      row<Less>("less", 0, [](double x, double y) { return x < y ? 1.0 : 0.0; }),
      row<LessEqual>("less_equal", 0, [](double x, double y) { return x <= y ? 1.0 : 0.0; }),
      row<Greater>("greater", 0, [](double x, double y) { return x > y ? 1.0 : 0.0; }),
      row<GreaterEqual>("greater_equal", 0, [](double x, double y) { return x >= y ? 1.0 : 0.0; }),
      row<And>("and", 0, [](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; }),
      row<Or>("or", 0, [](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; }),
      row<Xor>("xor", 0, [](double x, double y) { return (x != 0) != (y != 0) ? 1.0 : 0.0; }),
      row<Not>("not", 0, [](double x) { return x == 0 ? 1.0 : 0.0; }),
      row<IsNan>("is_nan", 0, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }),
      row<Where>("where", 0, [](double x, double y, double z) { return x != 0 ? y : z; }),
      row<MaskedFill>("masked_fill", 0, [](double x, double y, double z) { return y != 0 ? z : x; }),
      // Fused or not, as for add_scaled.
      row_with_two<AddProduct>(
          "add_product", 0.5, [](double x, double y, double z) { return x + y * z; },
          [](float x, float y, float z) { return x + static_cast<float>(double{y} * z); }),
      row<AddQuotient>("add_quotient", 0.5,
                       [](double x, double y, double z) {
                         return x + double{static_cast<float>(y) / static_cast<float>(z)};
                       }),
      row_with_two<Lerp>(
          "lerp", 0.5, [](double x, double y, double z) { return lerp(x, y, z); },
          [](float x, float y, float z) { return rounded_lerp(x, y, z); }),
      row<Same>("same", 0, [](double x) { return x; }),
      row<RoundToBfloat16>("round_to_bfloat16", 0, [](double x) { return to_bfloat16(x); }),
      row<RoundToFloat16>("round_to_float16", 0, [](double x) { return to_float16(x); }),
      row<Neg>("neg", 0, [](double x) { return -x; }),
      row<Abs>("abs", 0, [](double x) { return std::fabs(x); }),
      row<Sign>("sign", 0, [](double x) { return sign(x); }),
      row<Square>("square", 0.5, [](double x) { return x * x; }),
      row<Cube>("cube", 1.5, [](double x) { return x * x * x; }),
      row<InverseSquare>("inverse_square", 0.5,
                         [](double x) { return 1 / double{static_cast<float>(x * x)}; }),
      row<Pow>("pow", 0.51, [](double x, double y) { return std::pow(x, y); }),
      row<Sqrt>("sqrt", 0.5, [](double x) { return std::sqrt(x); }),
      row<Rsqrt>("rsqrt", 1.5, [](double x) { return 1 / std::sqrt(x); }),
      row<Reciprocal>("reciprocal", 0.5, [](double x) { return 1 / x; }),
      row<Floor>("floor", 0, [](double x) { return std::floor(x); }),
      row<Ceil>("ceil", 0, [](double x) { return std::ceil(x); }),
      row<Round>("round", 0, [](double x) { return std::nearbyint(x); }),
      row<Trunc>("trunc", 0, [](double x) { return std::trunc(x); }),
      row<Exp>("exp", 1, [](double x) { return std::exp(x); }),
      row<Expm1>("expm1", 1.5, [](double x) { return std::expm1(x); }),
      row<Log>("log", 1, [](double x) { return std::log(x); }),
      row<Log1p>("log1p", 1.5, [](double x) { return std::log1p(x); }),
      row<Tanh>("tanh", 2, [](double x) { return std::tanh(x); }),
      row<Sigmoid>("sigmoid", 2, [](double x) { return 1 / (1 + std::exp(-x)); }),
      row<Erf>("erf", 2, [](double x) { return std::erf(x); }),
      row<Silu>("silu", 2, [](double x) { return x / (1 + std::exp(-x)); }),
      // Computed by erfc and by exp, which do not cancel in double precision.
      row<GeluErf>(
          "gelu", 2, [](double x) { return x * 0.5 * std::erfc(x * -sqrt2 / 2); }, Unit::negative_input),
      row<GeluTanh>(
          "gelu_tanh", 2.1,
          [](double x) {
            const double inner = sqrt2 * inv_sqrtpi * (x + 0.044715 * (x * x * x));
            return x / (1 + std::exp(-2 * inner));
          },
          Unit::negative_input),
      row<Elu>("elu", 2, [](double x, double alpha) { return x >= 0 ? x : std::expm1(x) * alpha; }),
      row<Softplus>(
          "softplus", 3, [](double x, double beta, double threshold) { return softplus(x, beta, threshold); },
          Unit::step_over_beta),
  };
}();

inline constexpr std::array kExceptions = [] {
  using namespace kernels::vector_ops;
  const char* product = "the product of -inf and 0";
  const char* square = "x * x is rounded up, and the product with it passes the largest number";
  return std::array{
      exception<Sign>(kNaN, kNaN, 0, "the difference of (0 < x) and (x < 0)"),
      exception<Cube>(0x1.965feap+42f, 0x1.965feap+42f, kInfinity, square),
      exception<Cube>(-0x1.965feap+42f, -0x1.965feap+42f, -kInfinity, square),
      exception<Hardswish>(0x1.555556p125f, std::numeric_limits<float>::max(), kInfinity, "6 * x overflows"),
      exception<Hardswish>(-kInfinity, -kInfinity, kNaN, product),
      exception<Silu>(-kInfinity, -kInfinity, kNaN, product),
      exception<GeluErf>(-kInfinity, -kInfinity, kNaN, product),
      exception<GeluTanh>(-kInfinity, -kInfinity, kNaN, product),
  };
}();

static_assert(
    [] {
      for (std::size_t vector_op = 0; vector_op < kernels::BuiltinVectorOps::size; ++vector_op) {
        std::size_t rows = 0;
        for (const Row& row : kRows) rows += row.vector_op == vector_op ? 1 : 0;
        if (rows != 1) return false;
      }
      return true;
    }(),
    "every vector op that is built in has one row");

}  // namespace sr::exhaustive
