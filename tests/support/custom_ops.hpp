// Operators of a user, registered for the interpreter: they throw, lie about aliases, keep what they are
// given.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

namespace sr::test {

// What sr_test::call runs with its input; the op then returns a copy of the input.
inline std::function<void(const at::Tensor&)>& on_call() {
  static std::function<void(const at::Tensor&)> function;
  return function;
}

// What sr_test::keep was given last, whose schema does not say that it keeps anything.
inline at::Tensor& kept() {
  static at::Tensor tensor;
  return tensor;
}

}  // namespace sr::test
