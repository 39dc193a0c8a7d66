// Floats of 16 bits as their standards define them: what kernels are compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sr::test {

// The bits of the fraction, and what is added to exponents.
struct SmallFloat {
  int digits = 0, bias = 0;

  int infinity() const { return 0x7fff & ~((1 << digits) - 1); }
};
inline constexpr SmallFloat kBfloat16{7, 127}, kFloat16{10, 15};

inline double value_of(SmallFloat type, std::uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int magnitude = bits & 0x7fff, exponent = magnitude >> type.digits;
  const int fraction = magnitude & ((1 << type.digits) - 1);
  if (magnitude > type.infinity()) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude == type.infinity()) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - type.bias - type.digits);
  return sign * std::ldexp((1 << type.digits) + fraction, exponent - type.bias - type.digits);
}

// The number of the type that is nearest, of two the even one. Beyond the largest one it is infinity from
// half a step on.
inline double nearest(SmallFloat type, double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), 1 - type.bias);
  const double step = std::ldexp(1.0, exponent - type.digits);
  const double rounded = std::nearbyint(value / step) * step;
  if (std::fabs(rounded) < std::ldexp(1.0, type.bias + 1)) return std::copysign(rounded, value);
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

// The bits of a number that the type has.
inline std::uint16_t bits_of(SmallFloat type, double value) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(type.infinity() | 1 << (type.digits - 1));
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | type.infinity());
  const int exponent = value == 0 ? 1 - type.bias : std::max(std::ilogb(value), 1 - type.bias);
  // With the leading one of numbers that are not subnormal, which makes their exponents greater by one.
  const auto steps = static_cast<int>(std::ldexp(std::fabs(value), type.digits - exponent));
  return static_cast<std::uint16_t>(sign | (((exponent + type.bias - 1) << type.digits) + steps));
}

}  // namespace sr::test
