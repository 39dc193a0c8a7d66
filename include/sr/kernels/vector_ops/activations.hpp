// Vector ops of activation functions.
#pragma once

#include <sr/kernels/math.hpp>
#include <sr/kernels/math_of_doubles.hpp>
#include <sr/kernels/vector_ops/arithmetic.hpp>
#include <sr/kernels/vector_ops/kind.hpp>

namespace sr::kernels::vector_ops {

struct AddRelu : Binary<> {
  template <class V>
  static V apply(V x, V y) {
    return first_max(V(0), x + y);
  }
};
struct MulRelu : Binary<kHalves> {
  template <class V>
  static V apply(V x, V y) {
    return first_max(V(0), x * y);
  }
};
struct Relu : Unary<kDoubles | kIntegers | kHalves> {
  template <class V>
  static V apply(V x) {
    return first_max(V(0), x);
  }
};
struct LeakyRelu : Binary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x, V slope) {
    return select(x > V(0), x, x * slope);
  }
};
struct Threshold : Ternary<kDoubles> {
  template <class V>
  static V apply(V x, V threshold, V value) {
    return select(x <= threshold, value, x);
  }
};
struct Hardsigmoid : Unary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x) {
    return first_min(V(6), first_max(V(0), x + V(3))) / V(6);
  }
};
struct Hardswish : Unary<kDoubles | kHalves> {
  template <class V>
  static V apply(V x) {
    return x * first_min(V(6), first_max(V(0), x + V(3))) / V(6);
  }
};
struct Sigmoid : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return sigmoid(x);
  }
};
struct Silu : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return logistic(x, x);
  }
};
struct GeluErf : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    return x * normal_cdf(x);  // NaN for -inf, as in ATen
  }
};
template <class T>
inline constexpr T kGeluLinear = static_cast<T>(1.5957691216057308);  // 2 * sqrt(2 / pi)
template <class T>
inline constexpr T kGeluCubic = static_cast<T>(0.071354816272600249);  // 0.044715 of that
struct GeluTanh : Unary<kDoubles | kHalves | kInexact> {
  template <class V>
  static V apply(V x) {
    // (1 + tanh(y)) / 2 is 1 / (1 + exp(-2y)).
    using T = typename V::Element;
    return logistic(x * fma(x * x, V(kGeluCubic<T>), V(kGeluLinear<T>)), x);
  }
};
struct Elu : Binary<kDoubles | kInexact> {
  template <class V>
  static V apply(V x, V alpha) {
    return select(x >= V(0), x, expm1(x) * alpha);
  }
};
struct Softplus : Ternary<kDoubles | kInexact> {
  template <class V>
  static V apply(V x, V beta, V threshold) {
    const V scaled = x * beta;
    return select(scaled > threshold, x, log1p(exp(scaled)) / beta);
  }
};

}  // namespace sr::kernels::vector_ops
