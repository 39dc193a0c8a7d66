// Vector ops that take the larger or the smaller of two operands. A NaN of any operand is the result.
#pragma once

#include <sr/kernels/math.hpp>
#include <sr/kernels/vector_ops/kind.hpp>

namespace sr::kernels::vector_ops {

// Which of two zeros ATen takes depends on the position.
struct Maximum : Binary<kDoubles | kIntegers | kHalves | kInexact> {
  template <class V>
  static V apply(V x, V y) {
    return maximum(x, y);
  }
};
struct Minimum : Binary<kDoubles | kIntegers | kHalves | kInexact> {
  template <class V>
  static V apply(V x, V y) {
    return minimum(x, y);
  }
};
// first_max takes a NaN of its second operand; one of the bound has to be brought in.
struct ClampMin : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V low) {
    return select(is_nan(low), low, first_max(low, x));
  }
};
struct ClampMax : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V high) {
    return select(is_nan(high), high, first_min(high, x));
  }
};
struct Clamp : Ternary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V low, V high) {
    return select(is_nan(low) | is_nan(high), low + high, first_min(high, first_max(low, x)));
  }
};

}  // namespace sr::kernels::vector_ops
