// Vector ops of arithmetic, rounding and roots.
#pragma once

#include <sr/kernels/math.hpp>
#include <sr/kernels/math_of_doubles.hpp>
#include <sr/kernels/vector_ops/kind.hpp>

namespace sr::kernels::vector_ops {

struct Add : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return x + y;
  }
};
struct Sub : Binary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return x - y;
  }
};
struct Mul : Binary<kDoubles | kIntegers | kHalves | kHalvesByNumbers> {
  template <class V>
  static V apply(V x, V y) {
    return x * y;
  }
};
struct Div : Binary<kDoubles | kHalves | kHalvesByNumbers> {
  template <class V>
  static V apply(V x, V y) {
    return x / y;
  }
};
// Fused like ATen's where there is such an instruction, but what ATen does then depends on the position, too.
struct AddScaled : Ternary<kDoubles | kIntegers | kHalves | kInexact> {
  template <class V>
  static V apply(V x, V y, V alpha) {
    return fma(y, alpha, x);
  }
};
struct SubScaled : Ternary<kDoubles | kIntegers | kHalves | kInexact> {
  template <class V>
  static V apply(V x, V y, V alpha) {
    return fma(y, -alpha, x);
  }
};
// What ATen fuses here depends on the instruction set.
struct AddProduct : Ternary<kDoubles | kInexact> {
  template <class V>
  static V apply(V x, V y, V z) {
    return fma(y, z, x);
  }
};
struct AddQuotient : Ternary<kDoubles | kInexact> {
  template <class V>
  static V apply(V x, V y, V z) {
    return x + y / z;
  }
};
// From the end that is nearer, so that a weight of 1 gives `end` itself.
struct Lerp : Ternary<kDoubles | kInexact> {
  template <class V>
  static V apply(V begin, V end, V weight) {
    const auto near_begin = abs(weight) < V(0.5f);
    return fma(select(near_begin, weight, weight - V(1)), end - begin, select(near_begin, begin, end));
  }
};
struct Same : Unary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x) {
    return x;
  }
};
// To the nearest bfloat16, of two the even one.
struct RoundToBfloat16 : Unary<kHalves> {
  template <class V>
  static V apply(V x) {
    const auto all = bits(x);
    using Whole = decltype(bits(x));
    const auto rounded =
        from_bits((all + Whole(0x7fff) + ((all >> 16) & Whole(1))) & Whole(static_cast<int>(0xffff0000)));
    return select(is_nan(x), x, rounded);
  }
};
// Rounds to the nearest float16, ties to even; from 65520 on to infinity. See kernels/float16.hpp.
struct RoundToFloat16 : Unary<kHalves> {
  template <class V>
  static V apply(V x) {
    using Whole = decltype(bits(x));
    const V magnitude = abs(x);
    const Whole all = bits(magnitude);
    const V subnormal = (magnitude + V(0.5f)) - V(0.5f);
    const V normal = from_bits((all + Whole(0xfff) + ((all >> 13) & Whole(1))) & Whole(~0x1fff));
    const V finite = select(magnitude < V(0x1p-14f), subnormal, normal);
    const V rounded = select(magnitude < V(65520.0f), finite, V(__builtin_inff()));
    return select(is_nan(x), x, copysign(rounded, x));
  }
};
struct Neg : Unary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x) {
    return -x;
  }
};
struct Abs : Unary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x) {
    return abs(x);
  }
};
struct Sign : Unary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x) {
    return select(x > V(0), V(1), V(0)) - select(x < V(0), V(1), V(0));
  }
};
struct Square : Unary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x) {
    return x * x;
  }
};
struct Cube : Unary<kDoubles | kIntegers> {
  template <class V>
  static V apply(V x) {
    return x * x * x;
  }
};
struct InverseSquare : Unary<kDoubles> {
  template <class V>
  static V apply(V x) {
    return V(1) / (x * x);
  }
};
struct Reciprocal : Unary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x) {
    return V(1) / x;
  }
};
struct Sqrt : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return sqrt(x);
  }
};
struct Rsqrt : Unary<kDoubles | kInexact> {
  template <class V>
  static V apply(V x) {
    return V(1) / sqrt(x);
  }
};
struct Floor : Unary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x) {
    return floor(x);
  }
};
struct Ceil : Unary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x) {
    return ceil(x);
  }
};
struct Round : Unary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x) {
    return round_even(x);
  }
};
struct Trunc : Unary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x) {
    return trunc(x);
  }
};

}  // namespace sr::kernels::vector_ops
