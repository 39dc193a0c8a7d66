// Reference conversions of bfloat16 and float16, computed from the definition of the formats.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sr::test {

// A format of one sign bit, an exponent, and a fraction.
struct SmallFloat {
  int digits = 0;  // bits of the fraction
  int bias = 0;    // of the exponent

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

// Rounds to the nearest number of the format, ties to even. A number that is half a step or more above the
// largest finite one becomes infinity.
inline double nearest(SmallFloat type, double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), 1 - type.bias);
  const double step = std::ldexp(1.0, exponent - type.digits);
  const double rounded = std::nearbyint(value / step) * step;
  if (std::fabs(rounded) < std::ldexp(1.0, type.bias + 1)) return std::copysign(rounded, value);
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

// The bits of a number that the format can represent.
inline std::uint16_t bits_of(SmallFloat type, double value) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<std::uint16_t>(type.infinity() | 1 << (type.digits - 1));
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | type.infinity());
  const int exponent = value == 0 ? 1 - type.bias : std::max(std::ilogb(value), 1 - type.bias);
  // The significand. Its leading 1, which subnormal numbers lack, carries into the exponent field below.
  const auto steps = static_cast<int>(std::ldexp(std::fabs(value), type.digits - exponent));
  return static_cast<std::uint16_t>(sign | (((exponent + type.bias - 1) << type.digits) + steps));
}

}  // namespace sr::test
