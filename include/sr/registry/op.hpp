// Registration: a schema literal and a functor, checked against each other at compile time.
//
//   struct LeakyRelu {
//     void operator()(const at::Tensor& self, const at::Scalar& slope, at::Tensor& out) const { ... }
//   };
//   inline const OutVariant<"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", LeakyRelu>
//   leaky_relu;
#pragma once

#include <algorithm>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/build.hpp>
#include <sr/base/fixed_string.hpp>
#include <sr/base/jit_fwd.hpp>
#include <sr/kernels/loops.hpp>
#include <sr/registry/argument.hpp>
#include <sr/registry/op_spec.hpp>
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

// Of a functor that is wrong the sentences below ask on, so that the compiler prints one and not a page.
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

// What holds for the functors of all ops. Always true: the sentences are what it is for.
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

// What holds for functors whose parameters are unpacked.
template <class Functor, std::size_t Inputs>
consteval bool check_parameters() {
  using Positions = std::make_index_sequence<Inputs>;
  static_assert(
      HasOneCall<Functor>,
      "the functor needs one 'operator()(...) const', not several, no template and not without const");
  static_assert(
      parameters_are_known<Functor>(Positions{}),
      "a parameter of the functor is of a type that no argument is unpacked to: see sr/argument.hpp");
  static_assert(parameters_only_read<Functor>(Positions{}),
                "a parameter of the functor may change its argument: take it by value or by const reference");
  return true;
}

template <class Functor>
inline constexpr Functor kFunctor{};

template <class Functor>
constexpr OpSpec make_spec(std::string_view literal, const Schema& schema, NodeKind kind,
                           void (*run)(const void*, NodeView&)) {
  OpSpec spec;
  spec.key = schema.key;
  spec.schema = literal;
  spec.kind = kind;
  spec.functor = &typeid(Functor);
  spec.function = {run, &kFunctor<Functor>};
  spec.argument_count = schema.argument_count;
  if constexpr (requires { &Functor::accepts; }) {
    spec.accepts = &Functor::accepts;
  }
  spec.traits = traits_of<Functor>();
  return spec;
}

// `static constexpr auto lane` of a functor, one parameter for each argument of the schema, as kernels want
// lanes.
template <class Functor, std::size_t Inputs>
struct LaneOf {
  static constexpr std::size_t operands = Inputs;
  static constexpr bool exact = false;
  template <class V, class... Rest>
  static V apply(V first, Rest... rest) {
    return Functor::lane(first, rest...);
  }
};

template <class Functor, std::size_t Inputs>
inline constexpr kernels::LaneLoops kLaneLoops = kernels::make_loops<LaneOf<Functor, Inputs>>();

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

template <class T>
void put_result(c10::IValue& slot, T&& value) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Value, at::Tensor>) {
    put(slot, at::Tensor(std::forward<T>(value)));
  } else if constexpr (std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, double> ||
                       std::is_same_v<Value, bool>) {
    put(slot, value);
  } else {
    put(slot, c10::IValue(std::forward<T>(value)));
  }
}

// What a native functor returns: one value, several in a tuple, or none.
template <class Result>
struct Returns {
  using Value = std::remove_cvref_t<Result>;
  static constexpr std::size_t count = 1;
  static constexpr bool are_boxed = std::is_constructible_v<c10::IValue, Result>;
  static constexpr std::size_t tensors =
      std::is_same_v<Value, at::Tensor> || std::is_same_v<Value, c10::IValue> ? 1 : 0;
  static void store(NodeView& view, Result&& result) {
    put_result(view.output(0), std::forward<Result>(result));
  }
};
template <>
struct Returns<void> {
  static constexpr std::size_t count = 0;
  static constexpr bool are_boxed = true;
  static constexpr std::size_t tensors = 0;
};
template <class... R>
struct Returns<std::tuple<R...>> {
  static constexpr std::size_t count = sizeof...(R);
  static constexpr bool are_boxed = (Returns<R>::are_boxed && ...);
  static constexpr std::size_t tensors = (Returns<R>::tensors + ... + 0);
  static void store(NodeView& view, std::tuple<R...>&& results) {
    store(view, std::move(results), std::index_sequence_for<R...>{});
  }

 private:
  template <std::size_t... I>
  static void store(NodeView& view, std::tuple<R...>&& results, std::index_sequence<I...>) {
    (put_result(view.output(I), std::move(std::get<I>(results))), ...);
  }
};

template <class Functor, std::size_t Inputs>
struct NativeCall {
  using Result = typename CallOf<Functor>::Result;
  template <std::size_t... I>
  static void call(const Functor& functor, [[maybe_unused]] NodeView& view, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<Result>) {
      functor(ArgumentFor<ParameterAt<Functor, I>>(view.input(I)).get()...);
    } else {
      Returns<Result>::store(view, functor(ArgumentFor<ParameterAt<Functor, I>>(view.input(I)).get()...));
    }
  }
  static void run(const void* op, NodeView& view) {
    call(*static_cast<const Functor*>(op), view, std::make_index_sequence<Inputs>{});
  }
};

}  // namespace detail

// An op that writes its tensor results into tensors it is given: `void operator()(arguments..., at::Tensor&
// out...) const`. Its outputs may be placed by the memory planner, so they never alias an input. The functor
// is stateless; it may have `static constexpr OutTraits traits` and `static bool accepts(const
// torch::jit::Node&)`, and, when it is pointwise, `static constexpr auto lane`: the operation on one register
// (`[](auto x, auto slope) { return select(x > 0, x, x * slope); }`), which replay uses on fp32 under
// Numerics::fast. Throws RegistryError from the static initialiser when another functor has the schema's
// key.
template <FixedString Literal, class Functor>
struct OutVariant {
  static constexpr Schema schema = parse_schema(Literal.view());
  static constexpr std::size_t inputs = schema.argument_count;
  static constexpr std::size_t outputs = schema.return_count;
  static constexpr OutTraits traits = detail::traits_of<Functor>();
  static_assert(outputs != 0 && outputs == schema.tensor_return_count,
                "an out variant returns tensors only: register the op as Native instead");
  static_assert(schema.alias_return_count == 0,
                "an out variant makes new tensors: register an op that returns an alias as Native");
  static_assert(!detail::writes_any(schema),
                "an out variant does not write its arguments: register the op as Native instead");
  static_assert(detail::check_functor<Functor>() && detail::check_parameters<Functor, inputs>());
  static_assert(detail::CallOf<Functor>::count >= inputs + outputs,
                "the functor has fewer parameters than the schema has arguments and returned tensors");
  static_assert(detail::CallOf<Functor>::count <= inputs + outputs,
                "the functor has more parameters than the schema has arguments and returned tensors");
  static_assert(detail::parameters_fit<Functor>(schema, std::make_index_sequence<inputs>{}),
                "a parameter of the functor does not take the type the schema gives that argument");
  static_assert(detail::are_outputs<Functor, inputs>(std::make_index_sequence<outputs>{}),
                "the last parameters of an out variant are 'at::Tensor&', one for each returned tensor");
  static_assert(std::is_void_v<typename detail::CallOf<Functor>::Result>, "an out variant returns void");
  static_assert(!traits.makes_new_tensor, "makes_new_tensor is for native ops: an out variant always does");
  static_assert(traits.writes_in_place < 0 ||
                    (traits.writes_in_place < static_cast<int>(inputs) &&
                     schema.arguments[static_cast<std::size_t>(traits.writes_in_place)].kind ==
                         ArgumentKind::tensor),
                "writes_in_place is the position of a Tensor argument of the schema");

  OutVariant() {
    static constexpr OpSpec spec = make();
    register_op(spec);
  }

 private:
  static constexpr OpSpec make() {
    using Call = detail::OutCall<Functor, inputs, outputs>;
    OpSpec made = detail::make_spec<Functor>(Literal.view(), schema, NodeKind::out_variant, &Call::run);
    made.write = {&Call::typed, made.function.op};
    if constexpr (requires { Functor::lane; }) {
      static_assert(outputs == 1 && inputs <= kernels::kMaxOperands,
                    "a lane has one result and at most three operands");
      made.lane = &detail::kLaneLoops<Functor, inputs>;
    }
    return made;
  }
};

// An op that returns its results, as upstream's native functions: views, containers, numbers.
// `Result operator()(arguments...) const`, where several results are a std::tuple. What may alias what is
// read off the alias annotations of the schema.
template <FixedString Literal, class Functor>
struct Native {
  static constexpr Schema schema = parse_schema(Literal.view());
  using Result = typename detail::CallOf<Functor>::Result;
  using Returns = detail::Returns<Result>;
  static_assert(schema.return_count == Returns::count,
                "the functor does not return as many values as the schema: one, or a std::tuple of them");
  static_assert(detail::check_functor<Functor>() &&
                detail::check_parameters<Functor, schema.argument_count>());
  static_assert(detail::CallOf<Functor>::count == schema.argument_count,
                "the functor does not have one parameter for each argument of the schema");
  static_assert(detail::parameters_fit<Functor>(schema, std::make_index_sequence<schema.argument_count>{}),
                "a parameter of the functor does not take the type the schema gives that argument");
  static_assert(Returns::are_boxed, "no IValue can be made of what the functor returns");
  static_assert(schema.tensor_return_count <= Returns::tensors,
                "the schema returns a tensor but the functor does not");

  Native() {
    static constexpr OpSpec spec = detail::make_spec<Functor>(
        Literal.view(), schema, NodeKind::native, &detail::NativeCall<Functor, schema.argument_count>::run);
    register_op(spec);
  }
};

// A node with any number of inputs and outputs, or with sub-blocks: `void operator()(NodeView& node) const`.
// `Key` is "name.overload" or a prim:: kind. Kind says whether the outputs are fresh tensors written through
// the out protocol (then `operator()` is what is called once the outputs are ready) or anything else.
template <FixedString Key, class Functor, NodeKind Kind = NodeKind::native>
struct NodeOp {
  static_assert(detail::is_key(Key.view()),
                "the key of a NodeOp is 'namespace::name' or 'namespace::name.overload', without arguments");
  static_assert(detail::check_functor<Functor>());
  static_assert(std::is_invocable_v<const Functor&, NodeView&>,
                "the functor of a NodeOp is called as 'void operator()(NodeView& node) const'");
  static_assert(Kind != NodeKind::fallback,
                "a NodeOp is native or an out variant; nobody registers the fallback");
  static_assert(Kind != NodeKind::out_variant || !detail::traits_of<Functor>().makes_new_tensor,
                "makes_new_tensor is for native ops: an out variant always does");

  NodeOp() {
    static constexpr OpSpec spec = make();
    register_op(spec);
  }

 private:
  static void call(const void* op, NodeView& view) { (*static_cast<const Functor*>(op))(view); }
  static void run_out(const void* op, NodeView& view) { run_out_variant(view, &call, op); }
  static constexpr OpSpec make() {
    Schema schema;
    schema.key = Key.view();
    OpSpec made =
        detail::make_spec<Functor>({}, schema, Kind, Kind == NodeKind::out_variant ? &run_out : &call);
    if (Kind == NodeKind::out_variant) made.write = {&call, made.function.op};
    return made;
  }
};

SR_SILENT_END

}  // namespace sr
