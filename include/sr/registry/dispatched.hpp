// Any operator of ATen as a functor: it calls the operator's typed handle, which goes through the dispatcher
// without boxing.
//
//   inline const Native<schema_of<at::_ops::einsum>(), Dispatched<at::_ops::einsum>> einsum;
#pragma once

#include <string_view>

#include <sr/base/fixed_string.hpp>
#include <sr/registry/argument_of_handle.hpp>
#include <sr/registry/op.hpp>

namespace sr {

namespace detail {

// A tensor is a handle: in-place ops write its elements and never the handle.
template <class P>
struct HandleParameter {
  using Type = P;
  static P given(P parameter) { return static_cast<P>(parameter); }
};
template <>
struct HandleParameter<at::Tensor&> {
  using Type = const at::Tensor&;
  static at::Tensor& given(const at::Tensor& parameter) { return const_cast<at::Tensor&>(parameter); }
};

template <class Op, class Signature>
struct HandleCall;
template <class Op, class R, class... P>
struct HandleCall<Op, R(P...)> {
  R operator()(typename HandleParameter<P>::Type... arguments) const {
    return Op::call(HandleParameter<P>::given(arguments)...);
  }
};

}  // namespace detail

template <class Op>
struct Dispatched : detail::HandleCall<Op, typename Op::schema> {};

// For ops whose results are new tensors, although their schemas do not say so.
template <class Op>
struct DispatchedNew : detail::HandleCall<Op, typename Op::schema> {
  static constexpr OutTraits traits{.makes_new_tensor = true};
};

// The schema literal that LibTorch generates for the operator.
template <class Op>
consteval auto schema_of() {
  constexpr std::string_view given(Op::schema_str);
  char text[given.size() + 1]{};
  std::copy_n(given.data(), given.size(), text);
  return FixedString("aten::") + FixedString<given.size() + 1>(text);
}

// Registers an operator of ATen in one line. The schema says which results may alias which arguments.
template <class Op, class... Parts>
using NativeOf = Native<schema_of<Op>(), Dispatched<Op>, Parts...>;
template <class Op, class... Parts>
using NewTensorsOf = Native<schema_of<Op>(), DispatchedNew<Op>, Parts...>;
// An entry of an operator without a functor of sr.
template <class Op, class... Parts>
using OperatorOf = Operator<schema_of<Op>(), Parts...>;

// A part: the operator that writes its first argument instead, with facts about it, and with a function that
// lowers it. It is called like a NativeOf.
template <class Op, auto... more>
struct InPlace {
  static constexpr void add_to(OperatorParts& spec) { spec.register_in_place = &add; }

 private:
  static void add(std::string_view functional) {
    static const NativeOf<Op> functor;
    OperatorParts spec;
    spec.schema = std::string_view(kLiteral.view());
    spec.key = NativeOf<Op>::schema.key;
    spec.parts = &typeid(InPlace);
    (add(more, spec), ...);
    spec.functional = functional;
    register_operator(spec);
  }
  static void add(Fact fact, OperatorParts& spec) { spec.facts |= mask_of(fact); }
  static void add(decltype(OperatorParts::to_kernel) lower, OperatorParts& spec) { spec.to_kernel = lower; }

  static constexpr auto kLiteral = schema_of<Op>();
};

}  // namespace sr
