// How many operands a vector op has, and whether its results are ATen's to the bit (but for the bits of a
// NaN).
#pragma once

#include <cstddef>

namespace sr::kernels::vector_ops {

struct Unary {
  static constexpr std::size_t operands = 1;
  static constexpr bool exact = true;
};
struct Binary : Unary {
  static constexpr std::size_t operands = 2;
};
struct Ternary : Unary {
  static constexpr std::size_t operands = 3;
};
struct InexactUnary : Unary {
  static constexpr bool exact = false;
};

}  // namespace sr::kernels::vector_ops
