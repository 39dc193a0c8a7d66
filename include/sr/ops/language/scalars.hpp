// Ops of conditions and shape arithmetic: identity, length, type and range of values.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/ops/language/layouts.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

struct Not {
  bool operator()(bool a) const { return !a; }
};
struct Is {
  bool operator()(const c10::IValue& a, const c10::IValue& b) const { return a.is(b); }
};
struct IsNot {
  bool operator()(const c10::IValue& a, const c10::IValue& b) const { return !a.is(b); }
};
struct Length {
  std::int64_t operator()(const c10::IValue& list) const {
    return static_cast<std::int64_t>(list.toListRef().size());
  }
};
struct LengthOfTensor {
  std::int64_t operator()(const at::Tensor& tensor) const {
    TORCH_CHECK(tensor.dim() != 0, "len() of a 0-d tensor");
    return tensor.size(0);
  }
};
// The number of iterations of a range, and the value at an iteration.
struct LengthOfRange {
  std::int64_t operator()(std::int64_t low, std::int64_t high, std::int64_t step) const {
    if (step == 0) throw std::runtime_error("range() arg 3 must not be zero");
    if (step > 0 && low < high) return 1 + (high - 1 - low) / step;
    if (step < 0 && low > high) return 1 + (low - 1 - high) / (0 - step);
    return 0;
  }
};
struct IndexInRange {
  std::int64_t operator()(std::int64_t index, std::int64_t start, std::int64_t step) const {
    return start + index * step;
  }
};

struct Choose {
  c10::IValue operator()(bool condition, const c10::IValue& x, const c10::IValue& y) const {
    return condition ? x : y;
  }
};

// Comparisons of devices, enumerations and bools.
struct Same {
  bool operator()(const c10::IValue& a, const c10::IValue& b) const { return a == b; }
};
struct Different {
  bool operator()(const c10::IValue& a, const c10::IValue& b) const { return a != b; }
};

struct GreatestDivisor {
  std::int64_t operator()(std::int64_t a, std::int64_t b) const { return std::gcd(a, b); }
};
struct LoadExponent {
  double operator()(double x, std::int64_t i) const { return std::ldexp(x, static_cast<int>(i)); }
};
template <class Operation>
struct OfFlags {
  bool operator()(bool a, bool b) const { return Operation{}(a, b); }
};

// Type refinements, which return their input.
struct PassOn {
  void operator()(NodeView& node) const { node.output(0) = node.input(0); }
};
struct Unwrap {
  c10::IValue operator()(const c10::IValue& value) const {
    TORCH_CHECK(!value.isNone(), "Unwrapping null optional");
    return value;
  }
};

// Checks whether tensors have the properties that a specialised graph assumes. Returns the tensors in any
// case.
struct TypeCheck {
  void operator()(NodeView& node) const {
    const auto& types = node.node().tys(c10::attr::types);
    bool fit = true;
    for (std::size_t i = 0; i < node.input_count(); ++i) {
      fit &= types.at(i)->expectRef<c10::TensorType>().matchTensor(node.input(i).toTensor());
      node.output(i) = node.input(i);
    }
    node.output(node.input_count()) = fit;
  }
};

struct DtypeOf {
  std::int64_t operator()(const at::Tensor& tensor) const {
    return static_cast<std::int64_t>(tensor.scalar_type());
  }
};

namespace registered {

inline const Native<"aten::__not__(bool self) -> bool", Not> not_;
inline const Native<"aten::__is__(t1 self, t2 obj) -> bool", Is,
                    Facts<Fact::reads_metadata_only, Fact::compares_identity>,
                    Layouts<&replay::layouts::no_matter_of_sizes>>
    is;
inline const Native<"aten::__isnot__(t1 self, t2 obj) -> bool", IsNot,
                    Facts<Fact::reads_metadata_only, Fact::compares_identity>,
                    Layouts<&replay::layouts::no_matter_of_sizes>>
    is_not;
inline const Native<"aten::len.t(t[] a) -> int", Length, Layouts<&replay::layouts::length_of_list>>
    list_length;
inline const Native<"aten::len.Tensor(Tensor t) -> int", LengthOfTensor, Layouts<&replay::layouts::length>>
    tensor_length;
inline const Native<"prim::dtype(Tensor a) -> int", DtypeOf, Facts<Fact::reads_metadata_only>,
                    Layouts<&replay::layouts::no_matter_of_sizes>>
    dtype_of;
inline const Native<"aten::__range_length(int lo, int hi, int step) -> int", LengthOfRange> length_of_range;
inline const Native<"aten::__derive_index(int index, int start, int step) -> int", IndexInRange>
    index_in_range;
inline const Native<"prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(a|b)", Choose,
                    Layouts<&replay::layouts::choose>>
    choose;
inline const Native<"aten::eq.device(Device a, Device b) -> bool", Same> same_device;
inline const Native<"aten::ne.device(Device a, Device b) -> bool", Different> different_device;
inline const Native<"aten::eq.enum(AnyEnumType a, AnyEnumType b) -> bool", Same> same_enum;
inline const Native<"aten::ne.enum(AnyEnumType a, AnyEnumType b) -> bool", Different> different_enum;
inline const Native<"aten::eq.bool(bool a, bool b) -> bool", OfFlags<std::equal_to<>>> same_bool;
inline const Native<"aten::ne.bool(bool a, bool b) -> bool", OfFlags<std::not_equal_to<>>> different_bool;
inline const Native<"aten::__and__.bool(bool a, bool b) -> bool", OfFlags<std::logical_and<>>> and_bool;
inline const Native<"aten::__or__.bool(bool a, bool b) -> bool", OfFlags<std::logical_or<>>> or_bool;
inline const Native<"aten::gcd.int(int a, int b) -> int", GreatestDivisor> greatest_divisor;
inline const Native<"aten::ldexp(float x, int i) -> float", LoadExponent> load_exponent;
inline const Native<"aten::_unwrap_optional(t(a)? optional) -> t(a)", Unwrap> unwrap;
inline const NodeOp<"prim::unchecked_cast", PassOn, NodeKind::native, Facts<Fact::moves_values>>
    unchecked_cast;
inline const NodeOp<"prim::unchecked_unwrap_optional", PassOn, NodeKind::native, Facts<Fact::moves_values>>
    unchecked_unwrap;
inline const NodeOp<"prim::TypeCheck", TypeCheck> type_check;

}  // namespace registered
}  // namespace sr::ops
