// Pointwise operations of one register, with the semantics of ATen's vectorised CPU kernels. A user's lane
// looks the same. `exact`: the results are ATen's to the bit (but for the bits of a NaN).
#pragma once

#include <cstddef>

#include <sr/kernels/math.hpp>
#include <sr/kernels/math_of_doubles.hpp>
#include <sr/kernels/power.hpp>

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

struct MulRelu : Binary {
  template <class V>
  static V apply(V x, V y) {
    return first_max(V(0), x * y);
  }
};

// Which of two zeros ATen takes depends on the position.
struct Maximum : Binary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V x, V y) {
    return maximum(x, y);
  }
};
struct Minimum : Binary {
  static constexpr bool exact = false;
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

// Truth is 1 and falsehood 0; what is given as truth is anything but 0.
struct Equal : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x == y, V(1), V(0));
  }
};
struct NotEqual : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x != y, V(1), V(0));
  }
};
struct Less : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x < y, V(1), V(0));
  }
};
struct LessEqual : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x <= y, V(1), V(0));
  }
};
struct Greater : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x > y, V(1), V(0));
  }
};
struct GreaterEqual : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x >= y, V(1), V(0));
  }
};
struct And : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select((x != V(0)) & (y != V(0)), V(1), V(0));
  }
};
struct Or : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select((x != V(0)) | (y != V(0)), V(1), V(0));
  }
};
struct Xor : Binary {
  template <class V>
  static V apply(V x, V y) {
    return select(x != V(0), select(y != V(0), V(0), V(1)), select(y != V(0), V(1), V(0)));
  }
};
struct Not : Unary {
  template <class V>
  static V apply(V x) {
    return select(x == V(0), V(1), V(0));
  }
};
struct IsNan : Unary {
  template <class V>
  static V apply(V x) {
    return select(is_nan(x), V(1), V(0));
  }
};
struct Where : Ternary {
  template <class V>
  static V apply(V condition, V yes, V no) {
    return select(condition != V(0), yes, no);
  }
};
struct MaskedFill : Ternary {
  template <class V>
  static V apply(V x, V mask, V value) {
    return select(mask != V(0), value, x);
  }
};
// What ATen fuses here depends on the instruction set.
struct AddProduct : Ternary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V x, V y, V z) {
    return fma(y, z, x);
  }
};
struct AddQuotient : Ternary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V x, V y, V z) {
    return x + y / z;
  }
};
// From the end that is nearer, so that a weight of 1 gives `end` itself.
struct Lerp : Ternary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V begin, V end, V weight) {
    const auto near_begin = abs(weight) < V(0.5f);
    return fma(select(near_begin, weight, weight - V(1)), end - begin, select(near_begin, begin, end));
  }
};

struct Same : Unary {
  template <class V>
  static V apply(V x) {
    return x;
  }
};
// To the nearest bfloat16, of two the even one.
struct RoundToBfloat16 : Unary {
  template <class V>
  static V apply(V x) {
    const auto all = bits(x);
    using Whole = decltype(bits(x));
    const auto rounded =
        from_bits((all + Whole(0x7fff) + ((all >> 16) & Whole(1))) & Whole(static_cast<int>(0xffff0000)));
    return select(is_nan(x), x, rounded);
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
struct InverseSquare : Unary {
  template <class V>
  static V apply(V x) {
    return V(1) / (x * x);
  }
};
struct Pow : Binary {
  static constexpr bool exact = false;
  template <class V>
  static V apply(V x, V y) {
    return pow(x, y);
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
template <class T>
inline constexpr T kSqrtHalf = static_cast<T>(0.70710678118654752);
struct GeluErf : InexactUnary {
  template <class V>
  static V apply(V x) {
    // In ATen's order: the product of -inf and 0 is NaN.
    return x * V(0.5f) * one_plus_erf(x * V(kSqrtHalf<typename V::Element>));
  }
};
template <class T>
inline constexpr T kGeluLinear = static_cast<T>(1.5957691216057308);  // 2 * sqrt(2 / pi)
template <class T>
inline constexpr T kGeluCubic = static_cast<T>(0.071354816272600249);  // 0.044715 of that
struct GeluTanh : InexactUnary {
  template <class V>
  static V apply(V x) {
    // (1 + tanh(y)) / 2 is 1 / (1 + exp(-2y)).
    using T = typename V::Element;
    return logistic(x * fma(x * x, V(kGeluCubic<T>), V(kGeluLinear<T>)), x);
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
using Builtin = List<Add, Sub, ReverseSub, Mul, Div, AddScaled, SubScaled, AddRelu, MulRelu, Maximum, Minimum,
                     ClampMin, ClampMax, Clamp, Relu, LeakyRelu, Threshold, Hardsigmoid, Hardswish, Equal,
                     NotEqual, Less, LessEqual, Greater, GreaterEqual, And, Or, Xor, Not, IsNan, Where,
                     MaskedFill, AddProduct, AddQuotient, Lerp, Same, RoundToBfloat16, Neg, Abs, Sign, Square,
                     Cube, InverseSquare, Pow, Sqrt, Rsqrt, Reciprocal, Floor, Ceil, Round, Trunc, Exp, Expm1,
                     Log, Log1p, SignedLog1p, Tanh, Sigmoid, Erf, Silu, GeluErf, GeluTanh, Elu, Softplus>;

// Those of them that are compiled for doubles, too, and for 64-bit integers.
using OfDoubles =
    List<Add, Sub, ReverseSub, Mul, Div, AddScaled, SubScaled, Maximum, Minimum, ClampMin, ClampMax, Clamp,
         Relu, LeakyRelu, Threshold, Hardsigmoid, Hardswish, Equal, NotEqual, Less, LessEqual, Greater,
         GreaterEqual, And, Or, Xor, Not, IsNan, Where, MaskedFill, AddProduct, AddQuotient, Lerp, Same, Neg,
         Abs, Sign, Square, Cube, InverseSquare, Sqrt, Rsqrt, Reciprocal, Floor, Ceil, Round, Trunc, Exp,
         Expm1, Log, Log1p, SignedLog1p, Tanh, Sigmoid, Erf, Silu, GeluErf, GeluTanh, Elu, Softplus>;
using OfIntegers = List<Add, Sub, ReverseSub, Mul, AddScaled, SubScaled, Maximum, Minimum, ClampMin, ClampMax,
                        Clamp, Relu, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, And, Or, Xor,
                        Not, Where, MaskedFill, Same, Neg, Abs, Sign, Square, Cube>;

}  // namespace sr::kernels::lanes

namespace sr::kernels {
using BuiltinLanes = lanes::Builtin;
}
