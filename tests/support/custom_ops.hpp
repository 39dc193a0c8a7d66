// A user's operators, registered for the interpreter: they throw, have wrong alias annotations, or keep their
// arguments.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

namespace sr::test {

// The function that sr_test::call calls with its input; the operator then returns a copy of the input.
inline std::function<void(const at::Tensor&)>& on_call() {
  static std::function<void(const at::Tensor&)> function;
  return function;
}

// The last argument of sr_test::keep, whose schema does not say that it keeps anything.
inline at::Tensor& kept() {
  static at::Tensor tensor;
  return tensor;
}

}  // namespace sr::test
