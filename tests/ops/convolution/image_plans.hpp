// What the tests of convolutions and of pooling share.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/oracle.hpp"

namespace sr::test {

inline std::vector<InputSet> thrice(const std::vector<at::Tensor>& inputs) {
  std::vector<InputSet> runs;
  for (const at::Tensor& input : inputs) {
    for (int i = 0; i < 3; ++i) runs.push_back({input});
  }
  return runs;
}

// Steps of the program for `input`: kernels, then all others.
inline std::pair<std::size_t, std::size_t> steps_of(const torch::jit::Module& module,
                                                    const at::Tensor& input) {
  StaticRuntime<> runtime{StaticModule(module)};
  for (int run = 0; run < 3; ++run) runtime(input);
  const Report report = runtime.report();
  REQUIRE(report.plans.size() == 1);
  return {report.plans[0].kernels, report.plans[0].calls + report.plans[0].interpreted};
}

}  // namespace sr::test
