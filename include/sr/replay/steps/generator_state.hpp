// Saves and restores the state of LibTorch's default generator.
#pragma once

#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace sr::replay {

// Used when a deoptimized call has to draw the same random numbers again. Other threads that draw from the
// generator between keep() and restore() get the same numbers a second time.
class GeneratorState {
 public:
  // Copies the state, about 5 KB.
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
