// The state of LibTorch's default generator before a replay draws random numbers.
#pragma once

#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace sr::replay {

// Lets a call whose replay data have ended draw the same numbers again. What other threads draw from the same
// generator in between they draw again, too.
class GeneratorState {
 public:
  // Stores the state, some 5 KB.
  void keep() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard lock(generator.mutex());
    state_ = generator.get_state();
  }
  // Must be called after keep().
  void restore() const {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard lock(generator.mutex());
    generator.set_state(state_);
  }

 private:
  at::Tensor state_;
};

}  // namespace sr::replay
