// Functors of overloads that take numbers where others take tensors.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>

#include <sr/graph/op_traits.hpp>

namespace sr::ops {

template <class Functor, class Call, class Positions, std::size_t... kNumbers>
struct WithNumbers;

template <class Functor, class... Parameters, std::size_t... kPositions, std::size_t... kNumbers>
struct WithNumbers<Functor, void (Functor::*)(Parameters...) const, std::index_sequence<kPositions...>,
                   kNumbers...> {
  template <std::size_t kPosition>
  static constexpr bool is_number = ((kPosition == kNumbers) || ...);

  // A result cannot be written into a number. Pointwise operators may write into the next operand instead.
  static constexpr OutTraits traits = [] {
    OutTraits made;
    if constexpr (requires { Functor::traits; }) made = Functor::traits;
    if (made.writes_in_place == 0 && is_number<0>) made.writes_in_place = 1;
    return made;
  }();

  void operator()(
      std::conditional_t<is_number<kPositions>, const at::Scalar&, Parameters>... arguments) const {
    Functor{}(wrapped<is_number<kPositions>>(arguments)...);
  }

 private:
  template <bool kIsNumber, class Argument>
  static decltype(auto) wrapped(Argument& argument) {
    if constexpr (kIsNumber) {
      return at::native::wrapped_scalar_tensor(argument);
    } else {
      return (argument);
    }
  }
};

template <class Call>
struct CountParameters;
template <class Functor, class... Parameters>
struct CountParameters<void (Functor::*)(Parameters...) const> {
  using Positions = std::make_index_sequence<sizeof...(Parameters)>;
};

// `Functor` with numbers at these positions of its tensors. They are wrapped, so that they take part in type
// promotion as in the interpreter.
template <class Functor, std::size_t... kNumbers>
struct WrapNumbers
    : WithNumbers<Functor, decltype(&Functor::operator()),
                  typename CountParameters<decltype(&Functor::operator())>::Positions, kNumbers...> {};

}  // namespace sr::ops
