// Registration: a schema literal and a functor, checked against each other at compile time.
//
//   struct LeakyRelu {
//     void operator()(const at::Tensor& self, const at::Scalar& slope, at::Tensor& out) const { ... }
//   };
//   inline const OutVariant<"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", LeakyRelu>
//   leaky_relu;
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <sr/argument.hpp>
#include <sr/fixed_string.hpp>
#include <sr/out_protocol.hpp>
#include <sr/registry.hpp>
#include <sr/schema.hpp>

namespace sr {

namespace detail {

template <class T>
struct CallOperator;
template <class F, class R, class... P>
struct CallOperator<R (F::*)(P...) const> {
  using Result = R;
  using Parameters = std::tuple<P...>;
  static constexpr std::size_t count = sizeof...(P);
};

template <class Functor>
using CallOf = CallOperator<decltype(&Functor::operator())>;

template <class P>
using ArgumentFor = Argument<std::remove_cvref_t<P>>;

template <class Functor, std::size_t I>
using ParameterAt = std::tuple_element_t<I, typename CallOf<Functor>::Parameters>;

template <class Functor, std::size_t... I>
consteval bool parameters_fit(const Schema& schema, std::index_sequence<I...>) {
  return (ArgumentFor<ParameterAt<Functor, I>>::takes(schema.arguments[I].kind) && ...);
}

template <class Functor, std::size_t First, std::size_t... I>
consteval bool are_outputs(std::index_sequence<I...>) {
  return (std::is_same_v<ParameterAt<Functor, First + I>, at::Tensor&> && ...);
}

template <class Functor>
constexpr bool accepts_or_all(const torch::jit::Node& node) {
  return Functor::accepts(node);
}

template <class Functor>
OpEntry make_entry(std::string_view literal, const Schema& schema, NodeKind kind) {
  static constexpr Functor functor{};
  OpEntry entry;
  entry.key = schema.key;
  entry.schema = literal;
  entry.kind = kind;
  entry.functor = c10::demangle_type<Functor>();
  entry.function.op = &functor;
  entry.argument_count = schema.argument_count;
  if constexpr (requires(const torch::jit::Node& node) { Functor::accepts(node); }) {
    entry.accepts = &accepts_or_all<Functor>;
  }
  if constexpr (requires { Functor::traits; }) entry.traits = Functor::traits;
  return entry;
}

// Instantiated per functor, not per literal: ops that share a functor share the code.
template <class Functor, std::size_t Inputs, std::size_t Outputs>
struct OutCall {
  template <std::size_t... I, std::size_t... O>
  static void call(const Functor& functor, NodeView& view, std::index_sequence<I...>,
                   std::index_sequence<O...>) {
    functor(ArgumentFor<ParameterAt<Functor, I>>(view.input(I)).get()..., view.output(O).toTensor()...);
  }
  static void typed(const void* op, NodeView& view) {
    call(*static_cast<const Functor*>(op), view, std::make_index_sequence<Inputs>{},
         std::make_index_sequence<Outputs>{});
  }
  static void run(const void* op, NodeView& view) { run_out_variant(view, &typed, op); }
};

template <class Functor, std::size_t Inputs>
struct NativeCall {
  template <std::size_t... I>
  static void call(const Functor& functor, NodeView& view, std::index_sequence<I...>) {
    view.output(0) = c10::IValue(functor(ArgumentFor<ParameterAt<Functor, I>>(view.input(I)).get()...));
  }
  static void run(const void* op, NodeView& view) {
    call(*static_cast<const Functor*>(op), view, std::make_index_sequence<Inputs>{});
  }
};

}  // namespace detail

// An op that writes its tensor results into tensors it is given: `void operator()(arguments..., at::Tensor&
// out...) const`. Its outputs may be placed by the memory planner, so they never alias an input. The functor
// is stateless; it may have `static constexpr OutTraits traits` and `static bool accepts(const
// torch::jit::Node&)`. Throws RegistryError from the static initialiser when another functor has the schema's
// key.
template <FixedString Literal, class Functor>
struct OutVariant {
  static constexpr Schema schema = parse_schema(Literal.view());
  static constexpr std::size_t inputs = schema.argument_count;
  static constexpr std::size_t outputs = schema.return_count;
  static_assert(schema.return_count == schema.tensor_return_count,
                "an out variant returns tensors only: register the op as Native instead");
  static_assert(detail::CallOf<Functor>::count >= inputs + outputs,
                "the functor has fewer parameters than the schema has arguments and returned tensors");
  static_assert(detail::CallOf<Functor>::count <= inputs + outputs,
                "the functor has more parameters than the schema has arguments and returned tensors");
  static_assert(detail::parameters_fit<Functor>(schema, std::make_index_sequence<inputs>{}),
                "a parameter of the functor does not take the type the schema gives that argument");
  static_assert(detail::are_outputs<Functor, inputs>(std::make_index_sequence<outputs>{}),
                "the last parameters of an out variant are 'at::Tensor&', one for each returned tensor");
  static_assert(std::is_void_v<typename detail::CallOf<Functor>::Result>, "an out variant returns void");
  static_assert(std::is_empty_v<Functor>, "a functor is shared by all threads and may hold no state");

  OutVariant() {
    OpEntry entry = detail::make_entry<Functor>(Literal.view(), schema, NodeKind::out_variant);
    entry.function.run = &detail::OutCall<Functor, inputs, outputs>::run;
    registry().add(std::move(entry));
  }
};

// An op that returns its one result, as upstream's native functions: views, containers, numbers.
// `Result operator()(arguments...) const`. What may alias what is read off the alias annotations of the
// schema.
template <FixedString Literal, class Functor>
struct Native {
  static constexpr Schema schema = parse_schema(Literal.view());
  static_assert(schema.return_count == 1, "a native op with a typed functor returns one value; use NodeOp");
  static_assert(detail::CallOf<Functor>::count == schema.argument_count,
                "the functor does not have one parameter for each argument of the schema");
  static_assert(detail::parameters_fit<Functor>(schema, std::make_index_sequence<schema.argument_count>{}),
                "a parameter of the functor does not take the type the schema gives that argument");
  static_assert(std::is_empty_v<Functor>, "a functor is shared by all threads and may hold no state");

  Native() {
    OpEntry entry = detail::make_entry<Functor>(Literal.view(), schema, NodeKind::native);
    entry.function.run = &detail::NativeCall<Functor, schema.argument_count>::run;
    registry().add(std::move(entry));
  }
};

// A node with any number of inputs and outputs, or with sub-blocks: `void operator()(NodeView& node) const`.
// `Key` is "name.overload" or a prim:: kind. Kind says whether the outputs are fresh tensors written through
// the out protocol (then `operator()` is what is called once the outputs are ready) or anything else.
template <FixedString Key, class Functor, NodeKind Kind = NodeKind::native>
struct NodeOp {
  static_assert(std::is_empty_v<Functor>, "a functor is shared by all threads and may hold no state");

  NodeOp() {
    Schema schema;
    schema.key = Key.view();
    OpEntry entry = detail::make_entry<Functor>({}, schema, Kind);
    entry.function.run = Kind == NodeKind::out_variant ? &run_out : &call;
    registry().add(std::move(entry));
  }

 private:
  static void call(const void* op, NodeView& view) { (*static_cast<const Functor*>(op))(view); }
  static void run_out(const void* op, NodeView& view) { run_out_variant(view, &call, op); }
};

}  // namespace sr
