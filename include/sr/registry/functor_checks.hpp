// Compile-time checks of a functor against the schema that it is registered with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/build.hpp>
#include <sr/base/jit_fwd.hpp>
#include <sr/graph/op_traits.hpp>
#include <sr/registry/argument.hpp>
#include <sr/registry/schema.hpp>

namespace sr {

SR_SILENT_BEGIN

namespace detail {

template <class T>
struct CallOperator;
template <class F, class R, class... P>
struct CallOperator<R (F::*)(P...) const> {
  using Result = R;
  using Parameters = std::tuple<P...>;
  static constexpr std::size_t count = sizeof...(P);
};
template <class F, class R, class... P>
struct CallOperator<R (F::*)(P...) const noexcept> : CallOperator<R (F::*)(P...) const> {};

template <class Functor>
concept HasOneCall = requires {
  typename CallOperator<decltype(&Functor::operator())>::Result;
};

// A functor without exactly one call operator counts as one without parameters, so that the compiler prints
// the sentence below and no page of errors behind it.
template <class Functor>
struct CallOf : CallOperator<void (Functor::*)() const> {};
template <HasOneCall Functor>
struct CallOf<Functor> : CallOperator<decltype(&Functor::operator())> {};

template <class P>
using ArgumentFor = Argument<std::remove_cvref_t<P>>;

template <class P>
concept HasArgument = requires {
  ArgumentFor<P>::takes(ArgumentKind::other);
};

template <class Functor, std::size_t I, bool = (I < CallOf<Functor>::count)>
struct Parameter {
  using Type = std::tuple_element_t<I, typename CallOf<Functor>::Parameters>;
};
template <class Functor, std::size_t I>
struct Parameter<Functor, I, false> {
  using Type = const c10::IValue&;  // missing: takes anything
};

template <class Functor, std::size_t I>
using ParameterAt = typename Parameter<Functor, I>::Type;

template <class P>
consteval bool takes(ArgumentKind kind) {
  if constexpr (HasArgument<P>) return ArgumentFor<P>::takes(kind);
  return true;
}

template <class P>
consteval bool only_reads() {
  if constexpr (HasArgument<P>)
    return std::is_convertible_v<decltype(std::declval<ArgumentFor<P>&>().get()), P>;
  return true;
}

template <class Functor, std::size_t... I>
consteval bool parameters_are_known(std::index_sequence<I...>) {
  return (HasArgument<ParameterAt<Functor, I>> && ...);
}

template <class Functor, std::size_t... I>
consteval bool parameters_fit(const Schema& schema, std::index_sequence<I...>) {
  return (takes<ParameterAt<Functor, I>>(schema.arguments[I].kind) && ...);
}

template <class Functor, std::size_t... I>
consteval bool parameters_only_read(std::index_sequence<I...>) {
  return (only_reads<ParameterAt<Functor, I>>() && ...);
}

template <class Functor, std::size_t First, std::size_t... I>
consteval bool are_outputs(std::index_sequence<I...>) {
  return (std::is_same_v<ParameterAt<Functor, First + I>, at::Tensor&> && ...);
}

template <class Functor>
concept HasTraits = std::is_same_v<std::remove_cv_t<decltype(Functor::traits)>, OutTraits>;

template <class Functor>
consteval OutTraits traits_of() {
  if constexpr (HasTraits<Functor>) return Functor::traits;
  return {};
}

consteval bool writes_any(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [](const SchemaArgument& argument) { return argument.is_written; });
}

// Checks what holds for the functors of all ops. Returns true if it compiles.
template <class Functor>
consteval bool check_functor() {
  static_assert(std::is_empty_v<Functor>, "a functor is shared by all threads and may hold no state");
  if constexpr (requires { &Functor::accepts; }) {
    static_assert(std::is_convertible_v<decltype(&Functor::accepts), bool (*)(const torch::jit::Node&)>,
                  "the functor's accepts is not 'static bool accepts(const torch::jit::Node&)'");
  }
  if constexpr (requires { &Functor::traits; }) {
    static_assert(HasTraits<Functor>, "the functor's traits are no OutTraits");
  }
  return true;
}

// Checks what holds for functors that are given unpacked arguments.
template <class Functor, std::size_t Inputs>
consteval bool check_parameters() {
  using Positions = std::make_index_sequence<Inputs>;
  static_assert(
      HasOneCall<Functor>,
      "the functor needs one 'operator()(...) const', not several, no template and not without const");
  static_assert(parameters_are_known<Functor>(Positions{}),
                "a parameter of the functor is of a type that no argument is unpacked to: see "
                "sr/registry/argument.hpp");
  static_assert(parameters_only_read<Functor>(Positions{}),
                "a parameter of the functor may change its argument: take it by value or by const reference");
  return true;
}

}  // namespace detail

SR_SILENT_END

}  // namespace sr
