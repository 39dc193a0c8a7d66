// Pointwise operators that a step applies to its own results while they are in the cache.
#pragma once

#include <array>
#include <cstddef>

#include <c10/util/SmallVector.h>

#include <sr/kernels/table.hpp>

namespace sr::replay {

// A vector op on floats of which one operand is a result of the step, and the others are numbers.
struct Activation {
  kernels::VectorLoop loop = nullptr;
  std::size_t operands = 1, of_step = 0;  // `of_step` is the position of the result
  std::array<float, kernels::kMaxOperands> numbers{};

  // Replaces n floats.
  void run(std::size_t n, float* at) const {
    std::array<const float*, kernels::kMaxOperands> in{};
    for (std::size_t i = 0; i < operands; ++i) in[i] = i == of_step ? at : &numbers[i];
    loop(n, at, in.data());
  }
};

using Activations = c10::SmallVector<Activation, 1>;

inline void run_all(const Activations& activations, std::size_t n, float* at) {
  for (const Activation& activation : activations) activation.run(n, at);
}

}  // namespace sr::replay
