// What the compiler says about a functor that does not fit its schema. Compiles as it is; -DSR_REJECT=n has
// to fail with this in the message:
// needs: torch
// reject 1: an out variant returns tensors only: register the op as Native instead
// reject 2: an out variant makes new tensors: register an op that returns an alias as Native
// reject 3: an out variant does not write its arguments: register the op as Native instead
// reject 4: the functor has fewer parameters than the schema has arguments and returned tensors
// reject 5: the functor has more parameters than the schema has arguments and returned tensors
// reject 6: a parameter of the functor does not take the type the schema gives that argument
// reject 7: a parameter of the functor does not take the type the schema gives that argument
// reject 8: the last parameters of an out variant are 'at::Tensor&', one for each returned tensor
// reject 9: an out variant returns void
// reject 10: a parameter of the functor is of a type that no argument is unpacked to: see
// reject 11: a parameter of the functor may change its argument: take it by value or by const reference
// reject 12: the functor needs one 'operator()(...) const', not several, no template and not without const
// reject 13: the functor needs one 'operator()(...) const', not several, no template and not without const
// reject 14: the functor needs one 'operator()(...) const', not several, no template and not without const
// reject 15: the functor needs one 'operator()(...) const', not several, no template and not without const
// reject 16: a functor is shared by all threads and may hold no state
// reject 17: the functor's accepts is not 'static bool accepts(const torch::jit::Node&)'
// reject 18: the functor's traits are no OutTraits
// reject 19: makes_new_tensor is for native ops: an out variant always does
// reject 20: writes_in_place is the position of a Tensor argument of the schema
// reject 21: the functor does not return as many values as the schema: one, or a std::tuple of them
// reject 22: the functor does not have one parameter for each argument of the schema
// reject 23: no IValue can be made of what the functor returns
// reject 24: the schema returns a tensor but the functor does not
// reject 25: the key of a NodeOp is 'namespace::name' or 'namespace::name.overload', without arguments
// reject 26: the functor of a NodeOp is called as 'void operator()(NodeView& node) const'
// reject 27: a NodeOp is native or an out variant; the fallback is not registered
// reject 28: the parts of an entry are Lower, LowerToIterator, Layouts, Facts and InPlace
// reject 29: an entry has one part of each kind
#include <optional>
#include <string_view>
#include <vector>

#include <sr/op.hpp>

struct Good {
  static constexpr sr::OutTraits traits{.keeps_strides = true, .writes_in_place = 0};
  static bool accepts(const torch::jit::Node&) { return true; }
  void operator()(const at::Tensor&, const at::Scalar&, at::Tensor&) const noexcept {}
};
const sr::OutVariant<"my::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", Good> good;

inline bool lower(sr::replay::Lowering&, const sr::replay::TracedNode&) {
  return false;
}
const sr::OutVariant<"my::parts(Tensor self, Scalar negative_slope=0.01) -> Tensor", Good, sr::Lower<&lower>,
                     sr::LowerToIterator<&lower>, sr::Facts<sr::Fact::makes_new_results>>
    good_with_parts;
const sr::Operator<"my::other", sr::Facts<sr::Fact::unrepeatable>> good_without_functor;

struct EveryType {
  void operator()(const at::Tensor&, at::Tensor, const std::optional<at::Tensor>&, const at::Tensor*,
                  at::ITensorListRef, at::TensorList, std::int64_t, std::optional<std::int64_t>,
                  at::IntArrayRef, at::OptionalIntArrayRef, double, std::optional<double>, bool,
                  std::optional<bool>, const at::Scalar&, const std::optional<at::Scalar>&, std::string_view,
                  std::optional<std::string_view>, at::ScalarType, std::optional<at::ScalarType>,
                  const c10::IValue&, const c10::IValue&, at::Tensor&, at::Tensor&) const {}
};
const sr::OutVariant<
    "my::every(Tensor a, Tensor b, Tensor? c, Tensor? d, Tensor[] e, Tensor[] f, int g, SymInt? h, int[2] i, "
    "int[1]? j, "
    "float k, float? l, bool m, bool? n, Scalar o, Scalar? p, str q, str? r, ScalarType s, ScalarType? t, "
    "Device? u, Tensor v) -> (Tensor x, Tensor y)",
    EveryType>
    every_type;

struct First {
  at::Tensor operator()(const at::Tensor& self) const { return self; }
};
const sr::Native<"my::first(Tensor(a) self) -> Tensor(a)", First> first;

struct Both {
  std::tuple<at::Tensor, std::int64_t> operator()(const at::Tensor& self) const { return {self, 0}; }
};
const sr::Native<"my::both(Tensor(a) self) -> (Tensor(a), int)", Both> both;

struct Nothing {
  void operator()(const c10::IValue&) const {}
};
const sr::Native<"my::nothing(t[](a!) list) -> ()", Nothing> nothing;

struct Boxed {
  void operator()(sr::NodeView&) const {}
};
const sr::NodeOp<"my::boxed.two", Boxed> boxed;
const sr::NodeOp<"my::boxed.three", Boxed, sr::NodeKind::out_variant> boxed_out;

#if SR_REJECT == 1
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
};
const sr::OutVariant<"aten::dim(Tensor self) -> int", Functor> bad;
#elif SR_REJECT == 2
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
};
const sr::OutVariant<"aten::t(Tensor(a) self) -> Tensor(a)", Functor> bad;
#elif SR_REJECT == 3
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
};
const sr::OutVariant<"my::pop(Tensor(a!) self) -> Tensor", Functor> bad;
#elif SR_REJECT == 4
struct Functor {
  void operator()(at::Tensor& out) const;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 5
struct Functor {
  void operator()(const at::Tensor& self, const at::Scalar& slope, at::Tensor& out) const;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 6
struct Functor {
  void operator()(const at::Tensor& self, double slope, at::Tensor& out) const;
};
const sr::OutVariant<"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", Functor> bad;
#elif SR_REJECT == 7
struct Functor {
  void operator()(const at::Tensor& input, const at::Tensor& bias, at::Tensor& out) const;
};
const sr::OutVariant<"my::bias(Tensor input, Tensor? bias) -> Tensor", Functor> bad;
#elif SR_REJECT == 8
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor out) const;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 9
struct Functor {
  at::Tensor& operator()(const at::Tensor& self, at::Tensor& out) const;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 10
struct Functor {
  void operator()(const at::Tensor& self, float slope, at::Tensor& out) const;
};
const sr::OutVariant<"my::scale(Tensor self, float slope) -> Tensor", Functor> bad;
#elif SR_REJECT == 11
struct Functor {
  void operator()(at::Tensor& self, at::Tensor& out) const;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 12
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out);
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 13
struct Functor {
  template <class T>
  void operator()(const T& self, at::Tensor& out) const;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 14
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
  void operator()(const at::Tensor& self, double slope, at::Tensor& out) const;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 15
struct Functor {
  void call(const at::Tensor& self, at::Tensor& out) const;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 16
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
  int calls = 0;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 17
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
  static bool accepts(const torch::jit::Node* node);
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 18
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
  static constexpr bool traits = true;
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 19
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
  static constexpr sr::OutTraits traits{.makes_new_tensor = true};
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 20
struct Functor {
  void operator()(const at::Tensor& self, at::Tensor& out) const;
  static constexpr sr::OutTraits traits{.writes_in_place = 1};
};
const sr::OutVariant<"aten::relu(Tensor self) -> Tensor", Functor> bad;
#elif SR_REJECT == 21
struct Functor {
  at::Tensor operator()(const at::Tensor& self) const;
};
const sr::Native<"aten::t(Tensor self) -> (Tensor, Tensor)", Functor> bad;
#elif SR_REJECT == 22
struct Functor {
  at::Tensor operator()(const at::Tensor& self, std::int64_t dim) const;
};
const sr::Native<"aten::t(Tensor(a) self) -> Tensor(a)", Functor> bad;
#elif SR_REJECT == 23
struct Functor {
  Good operator()(const at::Tensor& self) const;
};
const sr::Native<"aten::t(Tensor(a) self) -> Tensor(a)", Functor> bad;
#elif SR_REJECT == 24
struct Functor {
  std::int64_t operator()(const at::Tensor& self) const;
};
const sr::Native<"aten::t(Tensor(a) self) -> Tensor(a)", Functor> bad;
#elif SR_REJECT == 25
struct Functor {
  void operator()(sr::NodeView& node) const;
};
const sr::NodeOp<"aten::linear(Tensor input, Tensor weight) -> Tensor", Functor> bad;
#elif SR_REJECT == 26
struct Functor {
  at::Tensor operator()(const at::Tensor& self) const;
};
const sr::NodeOp<"aten::linear", Functor> bad;
#elif SR_REJECT == 27
struct Functor {
  void operator()(sr::NodeView& node) const;
};
const sr::NodeOp<"aten::linear", Functor, sr::NodeKind::fallback> bad;
#elif SR_REJECT == 28
const sr::OutVariant<"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", Good, int> bad;
#elif SR_REJECT == 29
const sr::OutVariant<"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", Good,
                     sr::Lower<&lower>, sr::Lower<&lower>>
    bad;
#endif
