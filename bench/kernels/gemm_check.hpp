// Checks a matrix product of any element type against its sums in double.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace sr::bench {

struct GemmSizes {
  std::size_t m, n, k;
};

// `left(i, l)`, `right(l, j)` and `got(i, j)` return doubles. In any order of summation, the error of a sum
// of k products is at most k * epsilon times the sum of their magnitudes; `allowed` computes the bound from
// that and the sum. Throws if an error is larger; `name` names the product in the message.
template <class Left, class Right, class Got, class Allowed>
void check_product(const GemmSizes& sizes, const std::string& name, const Left& left, const Right& right,
                   const Got& got, const Allowed& allowed) {
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  for (std::size_t i = 0; i < sizes.m; ++i) {
    for (std::size_t j = 0; j < sizes.n; ++j) {
      double sum = 0, magnitudes = 0;
      for (std::size_t l = 0; l < sizes.k; ++l) {
        const double product = left(i, l) * right(l, j);
        sum += product;
        magnitudes += std::fabs(product);
      }
      const double result = got(i, j);
      if (std::fabs(result - sum) <= allowed(static_cast<double>(sizes.k) * kEpsilon * magnitudes, sum))
        continue;
      throw std::runtime_error("The product of " + name + " for M, N, K = " + std::to_string(sizes.m) + ", " +
                               std::to_string(sizes.n) + ", " + std::to_string(sizes.k) + " is " +
                               std::to_string(result) + " in row " + std::to_string(i) + ", column " +
                               std::to_string(j) + ", where it should be " + std::to_string(sum) + ".");
    }
  }
}

}  // namespace sr::bench
