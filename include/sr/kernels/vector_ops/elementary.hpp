// Vector ops of powers, exponentials and logarithms, and of functions built of them.
#pragma once

#include <sr/kernels/math.hpp>
#include <sr/kernels/math_of_doubles.hpp>
#include <sr/kernels/power.hpp>
#include <sr/kernels/vector_ops/arithmetic.hpp>
#include <sr/kernels/vector_ops/kind.hpp>

namespace sr::kernels::vector_ops {

struct Pow : Binary<kInexact> {
  template <class V>
  static V apply(V x, V y) {
    return pow(x, y);
  }
};
struct Exp : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return exp(x);
  }
};
struct Expm1 : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return expm1(x);
  }
};
struct Log : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return log(x);
  }
};
struct Log1p : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return log1p(x);
  }
};
struct Tanh : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return tanh(x);
  }
};
struct Erf : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return erf(x);
  }
};

}  // namespace sr::kernels::vector_ops
