// Registration of operators: a schema literal and a functor, which are checked against each other at compile
// time.
//
//   struct LeakyRelu {
//     void operator()(const at::Tensor& self, const at::Scalar& slope, at::Tensor& out) const { ... }
//   };
//   inline const OutVariant<"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", LeakyRelu>
//   leaky_relu;
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <sr/base/build.hpp>
#include <sr/base/fixed_string.hpp>
#include <sr/base/jit_fwd.hpp>
#include <sr/kernels/loops.hpp>
#include <sr/registry/functor_calls.hpp>
#include <sr/registry/functor_checks.hpp>
#include <sr/registry/operator_entry.hpp>
#include <sr/registry/operator_parts.hpp>
#include <sr/registry/schema.hpp>

namespace sr {

SR_SILENT_BEGIN

namespace detail {

template <class Functor>
inline constexpr Functor kFunctor{};

template <class Functor>
constexpr OperatorEntry make_entry(std::string_view literal, const Schema& schema, NodeKind kind,
                                   void (*run)(const void*, NodeView&)) {
  OperatorEntry entry;
  entry.key = schema.key;
  entry.schema = literal;
  entry.kind = kind;
  entry.functor = &typeid(Functor);
  entry.function = {run, &kFunctor<Functor>};
  entry.argument_count = schema.argument_count;
  if constexpr (requires { &Functor::accepts; }) {
    entry.accepts = &Functor::accepts;
  }
  entry.traits = traits_of<Functor>();
  return entry;
}

// The key of a schema, or the literal itself if it is a key.
constexpr std::string_view key_of_literal(std::string_view literal) {
  return is_key(literal) ? literal : parse_schema(literal).key;
}

template <FixedString Literal, class... Parts>
void register_parts() {
  static_assert((OperatorPart<Parts> && ...),
                "the parts of an entry are Lower, LowerToIterator, Layouts, Facts and InPlace");
  if constexpr (sizeof...(Parts) != 0 && (OperatorPart<Parts> && ...)) {
    static_assert(are_different_parts<Parts...>(), "an entry has one part of each kind");
    static constexpr OperatorParts spec =
        operator_parts<Parts...>(key_of_literal(Literal.view()), Literal.view());
    register_operator(spec);
  }
}

}  // namespace detail

// An op that writes its tensor results into tensors it is given: `void operator()(arguments..., at::Tensor&
// out...) const`. Its outputs may be placed by the memory planner, so they never alias an input. The functor
// is stateless. It may have
// - `static constexpr OutTraits traits`;
// - `static bool accepts(const torch::jit::Node&)`: nodes that it does not accept are left to others;
// - if it is pointwise, `static constexpr auto vector_op`: the operation on one register, with one parameter
// for each
//   argument of the schema (`[](auto x, auto slope) { return select(x > 0, x, x * slope); }`). Replays use it
//   on fp32 under Numerics::fast.
// Parts follow the functor, in any order, and say how a replay runs the operator
// (registry/operator_parts.hpp). Throws RegistryError from the static initialiser when another functor has
// the schema's key.
template <FixedString Literal, class Functor, class... Parts>
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
    static constexpr OperatorEntry entry = make();
    register_op(entry);
    detail::register_parts<Literal, Parts...>();
  }

 private:
  static constexpr OperatorEntry make() {
    using Call = detail::OutCall<Functor, inputs, outputs>;
    OperatorEntry made =
        detail::make_entry<Functor>(Literal.view(), schema, NodeKind::out_variant, &Call::run);
    made.write = {&Call::typed, made.function.op};
    if constexpr (requires { Functor::vector_op; }) {
      static_assert(outputs == 1 && inputs <= kernels::kMaxOperands,
                    "a vector op has one result and at most three operands");
      made.vector_op = &detail::kVectorLoops<Functor, inputs>;
    }
    return made;
  }
};

// An op that returns its results, as upstream's native functions: views, containers, numbers.
// `Result operator()(arguments...) const`, where several results are a std::tuple. The alias annotations of
// the schema say which results may alias which arguments.
template <FixedString Literal, class Functor, class... Parts>
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
    static constexpr OperatorEntry entry = detail::make_entry<Functor>(
        Literal.view(), schema, NodeKind::native, &detail::NativeCall<Functor, schema.argument_count>::run);
    register_op(entry);
    detail::register_parts<Literal, Parts...>();
  }
};

// A node with any number of inputs and outputs, or with sub-blocks: `void operator()(NodeView& node) const`.
// `Key` is "name.overload" or a prim:: kind. An out variant is called once its outputs are ready, and writes
// into them; a native op stores outputs of any kind.
template <FixedString Key, class Functor, NodeKind Kind = NodeKind::native, class... Parts>
struct NodeOp {
  static_assert(detail::is_key(Key.view()),
                "the key of a NodeOp is 'namespace::name' or 'namespace::name.overload', without arguments");
  static_assert(detail::check_functor<Functor>());
  static_assert(std::is_invocable_v<const Functor&, NodeView&>,
                "the functor of a NodeOp is called as 'void operator()(NodeView& node) const'");
  static_assert(Kind != NodeKind::fallback,
                "a NodeOp is native or an out variant; the fallback is not registered");
  static_assert(Kind != NodeKind::out_variant || !detail::traits_of<Functor>().makes_new_tensor,
                "makes_new_tensor is for native ops: an out variant always does");

  NodeOp() {
    static constexpr OperatorEntry entry = make();
    register_op(entry);
    detail::register_parts<Key, Parts...>();
  }

 private:
  static void call(const void* op, NodeView& view) { (*static_cast<const Functor*>(op))(view); }
  static void run_out(const void* op, NodeView& view) { run_out_variant(view, &call, op); }
  static constexpr OperatorEntry make() {
    Schema schema;
    schema.key = Key.view();
    OperatorEntry made =
        detail::make_entry<Functor>({}, schema, Kind, Kind == NodeKind::out_variant ? &run_out : &call);
    if (Kind == NodeKind::out_variant) made.write = {&call, made.function.op};
    return made;
  }
};

// An operator without a functor of sr: LibTorch's `.out` overload or its interpreter runs it on the general
// path.
template <FixedString Literal, class... Parts>
struct Operator {
  static constexpr Schema schema = parse_schema(Literal.view());
  Operator() { detail::register_parts<Literal, Parts...>(); }
};

SR_SILENT_END

}  // namespace sr
