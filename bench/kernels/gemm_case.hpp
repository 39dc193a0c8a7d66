// What the cases of matrix products have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "roofline.hpp"

namespace sr::bench {

// The case of a product of m x k by k x n, without its work and its runs.
inline Case gemm_case(std::string kernel, std::size_t m, std::size_t n, std::size_t k) {
  return {std::move(kernel),
          std::to_string(m) + ", " + std::to_string(n) + ", " + std::to_string(k),
          static_cast<double>(m * n),
          {},
          {},
          {},
          {}};
}

// Calls `run` as often as it is asked to.
template <class Run>
Many repeated(Run run) {
  return [run = std::move(run)](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) run();
  };
}

// Makes the case check its own results and those of its references. `check(name, many)` throws if the results
// of `many` are wrong.
template <class Check>
void check_all(Case& row, Check check) {
  row.check = [check = std::move(check), many = row.many, others = row.references] {
    check("sr", many);
    for (const Reference& other : others) check(other.name, other.many);
  };
}

}  // namespace sr::bench
