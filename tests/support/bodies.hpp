// Checks one expression or a few statements on a tensor `x` with the oracle, over the usual sequence of runs.
#pragma once

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test {

using Runs = std::vector<InputSet>;

inline at::Tensor f32(at::IntArrayRef sizes = {2, 3}) {
  return sample(sizes);
}

// A, larger, smaller, A, another dtype and back, other layouts.
inline Runs runs() {
  return {{f32()},
          {f32({4, 5})},
          {f32({1, 2})},
          {f32()},
          {sample({2, 3}, at::kDouble)},
          {f32()},
          {f32({3, 2}).t()},
          {stepped(f32())},
          {f32({3}).expand({2, 3})},
          {f32({0, 3})},
          {f32()}};
}

inline void check(const std::string& body, const Runs& inputs = runs(), const OracleOptions& options = {}) {
  INFO(body);
  check_script("def forward(self, x):\n    " + body + "\n", inputs, options);
}

}  // namespace sr::test
