// Floats as operands of kernels.
#pragma once

#include <cstddef>
#include <new>
#include <random>
#include <vector>

namespace sr::bench {

// Several arrays in one allocation, filled with numbers between `low` and `high`. Gaps keep loads from one
// array and stores to the next off the same offset of a page, because the CPU would take one for the other
// (4K aliasing).
class Operands {
 public:
  Operands(const std::vector<std::size_t>& sizes, float low, float high) {
    std::size_t floats = 0;
    for (const std::size_t size : sizes) {
      begins_.push_back(floats);
      floats += (size + kLine - 1) / kLine * kLine + kGap;
    }
    memory_ = static_cast<float*>(::operator new(floats * sizeof(float), kAlignment));
    std::minstd_rand engine(1);
    std::uniform_real_distribution<float> value(low, high);
    for (std::size_t i = 0; i < floats; ++i) memory_[i] = value(engine);
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  ~Operands() { ::operator delete(memory_, kAlignment); }

  float* operator[](std::size_t array) { return memory_ + begins_[array]; }

 private:
  static constexpr std::size_t kLine = 16, kGap = 17 * kLine;
  static constexpr std::align_val_t kAlignment{64};

  std::vector<std::size_t> begins_;
  float* memory_ = nullptr;
};

}  // namespace sr::bench
