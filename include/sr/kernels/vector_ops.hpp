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

// The ops of `Ops` that state what `Wanted` asks for, in their order.
template <template <class> class Wanted, class Ops, class Found = List<>>
struct Filter {
  using Type = Found;
};
template <template <class> class Wanted, class First, class... Rest, class... Found>
struct Filter<Wanted, List<First, Rest...>, List<Found...>> : Filter<Wanted, List<Rest...>, List<Found...>> {
};
template <template <class> class Wanted, class First, class... Rest, class... Found>
requires Wanted<First>::value struct Filter<Wanted, List<First, Rest...>, List<Found...>>
    : Filter<Wanted, List<Rest...>, List<Found..., First>> {
};

template <class VectorOp>
struct OnDoubles {
  static constexpr bool value = VectorOp::on_doubles;
};
template <class VectorOp>
struct OnIntegers {
  static constexpr bool value = VectorOp::on_integers;
};

// All of them, on floats.
using Builtin = List<Add, Sub, Mul, Div, AddScaled, SubScaled, AddRelu, MulRelu, Maximum, Minimum, ClampMin,
                     ClampMax, Clamp, Relu, LeakyRelu, Threshold, Hardsigmoid, Hardswish, Equal, NotEqual,
                     Less, LessEqual, Greater, GreaterEqual, And, Or, Xor, Not, IsNan, Where, MaskedFill,
                     AddProduct, AddQuotient, Lerp, Same, RoundToBfloat16, RoundToFloat16, Neg, Abs, Sign,
                     Square, Cube, InverseSquare, Pow, Sqrt, Rsqrt, Reciprocal, Floor, Ceil, Round, Trunc,
                     Exp, Expm1, Log, Log1p, Tanh, Sigmoid, Erf, Silu, GeluErf, GeluTanh, Elu, Softplus>;

// Those on doubles, and on 64-bit integers.
using OfDoubles = Filter<OnDoubles, Builtin>::Type;
using OfIntegers = Filter<OnIntegers, Builtin>::Type;

}  // namespace sr::kernels::vector_ops

namespace sr::kernels {
using BuiltinVectorOps = vector_ops::Builtin;
}
