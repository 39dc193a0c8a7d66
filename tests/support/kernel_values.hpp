// Operands for tests of kernels, and the comparison of results.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support/floats.hpp"

namespace sr::test {

// Makes random numbers, the same ones in every run of a program.
inline std::mt19937& random_bits() {
  static std::mt19937 engine(20240229);
  return engine;
}

inline float uniform(float low = -1, float high = 1) {
  return std::uniform_real_distribution<float>(low, high)(random_bits());
}
inline std::vector<float> uniform_floats(std::size_t count, float low = -1, float high = 1) {
  std::vector<float> values(count);
  for (float& value : values) value = uniform(low, high);
  return values;
}

// A third are special values, a third have random bits, a third have the size of activations.
inline float any_value() {
  static constexpr std::array kSpecial{0.0f,   -0.0f,  kNaN,    kInf,   -kInf,      1.0f,       -1.0f,
                                       0.5f,   1.5f,   -2.5f,   1e-45f, -1e-40f,    1.2e-38f,   3e38f,
                                       -3e38f, 88.6f,  -103.5f, 89.5f,  8388609.0f, 8388607.5f, -0.49999997f,
                                       1e-9f,  -1e-9f, 20.0f,   -17.0f, 0.70710677f};
  switch (random_bits()() % 3) {
    case 0:
      return kSpecial[random_bits()() % kSpecial.size()];
    case 1:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random_bits()()));
    default:
      return uniform(-6, 6);
  }
}

// Bit-identical, or both NaN.
inline bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

inline bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) { return same(x, y); });
}

inline std::ptrdiff_t signed_size(std::size_t size) {
  return static_cast<std::ptrdiff_t>(size);
}
inline std::size_t unsigned_size(std::ptrdiff_t size) {
  return static_cast<std::size_t>(size);
}

inline bool near(float got, double expected, double tolerance) {
  return std::fabs(got - expected) <= tolerance;
}

}  // namespace sr::test
