// The distance of a result from the truth, in units in the last place.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace sr::exhaustive {

// The error of a special value that differs: larger than any bound.
inline constexpr double kWrong = std::numeric_limits<double>::infinity();

// The inverse of the distance between neighbours in the binade of a finite float; 2^149 for denormal numbers
// and zero.
inline double inverse_ulp(float of) {
  const std::uint64_t field = (std::bit_cast<std::uint32_t>(of) >> 23) & 0xff;
  const std::uint64_t exponent = field == 0 ? 1 : field;
  return std::bit_cast<double>((std::uint64_t{1023 + 150} - exponent) << 52);
}

// The distance from `got` to `truth`, in ULPs of the float nearest to `truth`. A correctly rounded result is
// at most 0.5 ULPs away. Denormal results and zeros count in steps of 2^-149. NaN and infinity must appear
// exactly where that float is one; a zero must have the sign of the truth. `scale` is a magnitude below which
// the unit does not shrink.
inline double ulps_between(float got, double truth, float scale) {
  const auto rounded = static_cast<float>(truth);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : kWrong;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : kWrong;
  if (got == 0 && std::signbit(got) != std::signbit(truth)) return kWrong;
  const float magnitude = std::fabs(rounded);
  return std::fabs(double{got} - truth) * inverse_ulp(magnitude < scale ? scale : magnitude);
}

}  // namespace sr::exhaustive
