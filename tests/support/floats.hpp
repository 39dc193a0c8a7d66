// Floats for tests of kernels.
#pragma once

#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace sr::test {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

// Uniform between two numbers; the same in every run.
class RandomFloats {
 public:
  RandomFloats(std::mt19937::result_type seed, float low, float high) : bits_(seed), low_(low), high_(high) {}

  float one() { return std::uniform_real_distribution<float>(low_, high_)(bits_); }

  std::vector<float> operator()(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = one();
    return values;
  }

 private:
  std::mt19937 bits_;
  float low_, high_;
};

// The next of a sequence that the tests of a program share.
inline float any_float() {
  static RandomFloats random(7, -5, 5);
  return random.one();
}

}  // namespace sr::test
