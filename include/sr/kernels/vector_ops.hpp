// The pointwise operations that are compiled for every instruction set. Each is a functor on whole registers
// with the semantics of ATen's vectorised CPU kernels; an operator of the user brings one of the same form.
#pragma once

#include <cstddef>

#include <sr/kernels/vector_ops/activations.hpp>
#include <sr/kernels/vector_ops/arithmetic.hpp>
#include <sr/kernels/vector_ops/comparison.hpp>
#include <sr/kernels/vector_ops/elementary.hpp>
#include <sr/kernels/vector_ops/extrema.hpp>

namespace sr::kernels::vector_ops {

template <class... VectorOps>
struct List {
  static constexpr std::size_t size = sizeof...(VectorOps);

  // The position of an op in the list, or `size`.
  template <class VectorOp>
  static constexpr std::size_t index_of() {
    constexpr bool same[] = {Same<VectorOp, VectorOps>::value...};
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

// On floats.
using Builtin =
    List<Add, Sub, ReverseSub, Mul, Div, AddScaled, SubScaled, AddRelu, MulRelu, Maximum, Minimum, ClampMin,
         ClampMax, Clamp, Relu, LeakyRelu, Threshold, Hardsigmoid, Hardswish, Equal, NotEqual, Less,
         LessEqual, Greater, GreaterEqual, And, Or, Xor, Not, IsNan, Where, MaskedFill, AddProduct,
         AddQuotient, Lerp, Same, RoundToBfloat16, RoundToFloat16, Neg, Abs, Sign, Square, Cube,
         InverseSquare, Pow, Sqrt, Rsqrt, Reciprocal, Floor, Ceil, Round, Trunc, Exp, Expm1, Log, Log1p,
         SignedLog1p, Tanh, Sigmoid, Erf, Silu, GeluErf, GeluTanh, Elu, Softplus>;

// On doubles, and on 64-bit integers.
using OfDoubles =
    List<Add, Sub, ReverseSub, Mul, Div, AddScaled, SubScaled, Maximum, Minimum, ClampMin, ClampMax, Clamp,
         Relu, LeakyRelu, Threshold, Hardsigmoid, Hardswish, Equal, NotEqual, Less, LessEqual, Greater,
         GreaterEqual, And, Or, Xor, Not, IsNan, Where, MaskedFill, AddProduct, AddQuotient, Lerp, Same, Neg,
         Abs, Sign, Square, Cube, InverseSquare, Sqrt, Rsqrt, Reciprocal, Floor, Ceil, Round, Trunc, Exp,
         Expm1, Log, Log1p, SignedLog1p, Tanh, Sigmoid, Erf, Silu, GeluErf, GeluTanh, Elu, Softplus>;
using OfIntegers = List<Add, Sub, ReverseSub, Mul, AddScaled, SubScaled, Maximum, Minimum, ClampMin, ClampMax,
                        Clamp, Relu, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, And, Or, Xor,
                        Not, Where, MaskedFill, Same, Neg, Abs, Sign, Square, Cube>;

}  // namespace sr::kernels::vector_ops

namespace sr::kernels {
using BuiltinVectorOps = vector_ops::Builtin;
}
