// Runs one vector op with every instruction set and finds the inputs with the largest error.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <sr/kernels/kernels.hpp>

#include "exhaustive/inputs.hpp"
#include "exhaustive/row.hpp"

namespace sr::exhaustive {

// The worst input with one instruction set.
struct Worst {
  double ulps = -1;
  std::uint64_t index = 0;  // among the inputs; the first of equal errors
  std::array<float, kernels::kMaxOperands> in{};
  float got = 0;
  double truth = 0;

  void take(const Worst& other) {
    if (other.ulps > ulps || (other.ulps == ulps && other.index < index)) *this = other;
  }
};

struct Verdict {
  std::uint64_t inputs = 0;
  std::vector<Worst> sets;  // in the order of the instruction sets
  std::uint64_t unlike_first =
      0;  // results of other bits than the first set's; counted where the vector op is exact
};

Verdict check(const Row& row, const std::vector<const kernels::Kernels*>& sets, const Inputs& inputs,
              unsigned jobs);

}  // namespace sr::exhaustive
