// Pointwise operations of one register, with the semantics of ATen's vectorised CPU kernels. A user's lane
// looks the same. `exact`: the results are ATen's to the bit (but for the bits of a NaN).
#pragma once

#include <cstddef>

#include <sr/kernels/math.hpp>

namespace sr::kernels::lanes {

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

struct Add : Binary {
  template <class V>
  static V apply(V x, V y) {
    return x + y;
  }
};
struct Sub : Binary {
  template <class V>
  static V apply(V x, V y) {
    return x - y;
  }
};
struct ReverseSub : Binary {
  template <class V>
  static V apply(V x, V y) {
    return y - x;
  }
};
struct Mul : Binary {
  template <class V>
  static V apply(V x, V y) {
    return x * y;
  }
};
struct Div : Binary {
  template <class V>
  static V apply(V x, V y) {
    return x / y;
  }
};
// Fused like ATen's where there is such an instruction, but what ATen does then depends on the position, too.
struct AddScaled : Ternary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V x, V y, V alpha) {
    return fma(y, alpha, x);
  }
};
struct SubScaled : Ternary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V x, V y, V alpha) {
    return fma(y, -alpha, x);
  }
};
struct AddRelu : Binary {
  template <class V>
  static V apply(V x, V y) {
    return first_max(V(0), x + y);
  }
};

struct Maximum : Binary {
  template <class V>
  static V apply(V x, V y) {
    return maximum(x, y);
  }
};
struct Minimum : Binary {
  template <class V>
  static V apply(V x, V y) {
    return minimum(x, y);
  }
};
// first_max takes a NaN of its second operand; one of the bound has to be brought in.
struct ClampMin : Binary {
  template <class V>
  static V apply(V x, V low) {
    return select(is_nan(low), low, first_max(low, x));
  }
};
struct ClampMax : Binary {
  template <class V>
  static V apply(V x, V high) {
    return select(is_nan(high), high, first_min(high, x));
  }
};
struct Clamp : Ternary {
  template <class V>
  static V apply(V x, V low, V high) {
    return ClampMax::apply(ClampMin::apply(x, low), high);
  }
};
struct Relu : Unary {
  template <class V>
  static V apply(V x) {
    return first_max(V(0), x);
  }
};
struct LeakyRelu : Binary {
  template <class V>
  static V apply(V x, V slope) {
    return select(x > V(0), x, x * slope);
  }
};
struct Threshold : Ternary {
  template <class V>
  static V apply(V x, V threshold, V value) {
    return select(x <= threshold, value, x);
  }
};
struct Hardsigmoid : Unary {
  template <class V>
  static V apply(V x) {
    return first_min(V(6), first_max(V(0), x + V(3))) / V(6);
  }
};
struct Hardswish : Unary {
  template <class V>
  static V apply(V x) {
    return x * first_min(V(6), first_max(V(0), x + V(3))) / V(6);
  }
};

struct Neg : Unary {
  template <class V>
  static V apply(V x) {
    return -x;
  }
};
struct Abs : Unary {
  template <class V>
  static V apply(V x) {
    return abs(x);
  }
};
struct Sign : Unary {
  template <class V>
  static V apply(V x) {
    return select(x > V(0), V(1), V(0)) - select(x < V(0), V(1), V(0));
  }
};
struct Square : Unary {
  template <class V>
  static V apply(V x) {
    return x * x;
  }
};
struct Cube : Unary {
  template <class V>
  static V apply(V x) {
    return x * x * x;
  }
};
struct Sqrt : InexactUnary {
  template <class V>
  static V apply(V x) {
    return sqrt(x);
  }
};
struct Rsqrt : InexactUnary {
  template <class V>
  static V apply(V x) {
    return V(1) / sqrt(x);
  }
};
struct Reciprocal : Unary {
  template <class V>
  static V apply(V x) {
    return V(1) / x;
  }
};
struct Floor : Unary {
  template <class V>
  static V apply(V x) {
    return floor(x);
  }
};
struct Ceil : Unary {
  template <class V>
  static V apply(V x) {
    return ceil(x);
  }
};
struct Round : Unary {
  template <class V>
  static V apply(V x) {
    return round_even(x);
  }
};
struct Trunc : Unary {
  template <class V>
  static V apply(V x) {
    return trunc(x);
  }
};

struct Exp : InexactUnary {
  template <class V>
  static V apply(V x) {
    return exp(x);
  }
};
struct Expm1 : InexactUnary {
  template <class V>
  static V apply(V x) {
    return expm1(x);
  }
};
struct Log : InexactUnary {
  template <class V>
  static V apply(V x) {
    return log(x);
  }
};
struct Log1p : InexactUnary {
  template <class V>
  static V apply(V x) {
    return log1p(x);
  }
};
struct SignedLog1p : InexactUnary {
  template <class V>
  static V apply(V x) {
    return Sign::apply(x) * log1p(abs(x));
  }
};
struct Tanh : InexactUnary {
  template <class V>
  static V apply(V x) {
    return tanh(x);
  }
};
struct Sigmoid : InexactUnary {
  template <class V>
  static V apply(V x) {
    return sigmoid(x);
  }
};
struct Erf : InexactUnary {
  template <class V>
  static V apply(V x) {
    return erf(x);
  }
};
struct Silu : InexactUnary {
  template <class V>
  static V apply(V x) {
    return logistic(x, x);
  }
};
struct GeluErf : InexactUnary {
  template <class V>
  static V apply(V x) {
    // In ATen's order: the product of -inf and 0 is NaN.
    return x * V(0.5f) * (V(1) + erf(x * V(0.70710678f)));
  }
};
struct GeluTanh : InexactUnary {
  template <class V>
  static V apply(V x) {
    // (1 + tanh(y)) / 2 is 1 / (1 + exp(-2y)).
    return logistic(x * fma(x * x, V(0.0713548163f), V(1.59576912f)), x);
  }
};
struct Elu : Binary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V x, V alpha) {
    return select(x >= V(0), x, expm1(x) * alpha);
  }
};
struct Softplus : Ternary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V x, V beta, V threshold) {
    const V scaled = x * beta;
    return select(scaled > threshold, x, log1p(exp(scaled)) / beta);
  }
};

template <class... Lanes>
struct List {
  static constexpr std::size_t size = sizeof...(Lanes);

  // `size` for what is not in it.
  template <class Lane>
  static constexpr std::size_t index_of() {
    constexpr bool same[] = {Same<Lane, Lanes>::value...};
    std::size_t index = 0;
    while (index < size && !same[index]) ++index;
    return index;
  }

 private:
  template <class A, class B>
  struct Same {
    static constexpr bool value = false;
  };
  template <class A>
  struct Same<A, A> {
    static constexpr bool value = true;
  };
};

// Those that are compiled once for every instruction set.
using Builtin = List<Add, Sub, ReverseSub, Mul, Div, AddScaled, SubScaled, AddRelu, Maximum, Minimum,
                     ClampMin, ClampMax, Clamp, Relu, LeakyRelu, Threshold, Hardsigmoid, Hardswish, Neg, Abs,
                     Sign, Square, Cube, Sqrt, Rsqrt, Reciprocal, Floor, Ceil, Round, Trunc, Exp, Expm1, Log,
                     Log1p, SignedLog1p, Tanh, Sigmoid, Erf, Silu, GeluErf, GeluTanh, Elu, Softplus>;

}  // namespace sr::kernels::lanes

namespace sr::kernels {
using BuiltinLanes = lanes::Builtin;
}
