// Numbers and comparisons of the interpreter, which shape arithmetic and conditions are made of.
#pragma once

#include <ATen/core/ivalue.h>

#include <sr/op.hpp>

namespace sr::ops {

template <class Operation>
struct OfIntegers {
  auto operator()(std::int64_t a, std::int64_t b) const { return Operation{}(a, b); }
};

template <class Operation>
struct OfFloats {
  auto operator()(double a, double b) const { return Operation{}(a, b); }
};

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
struct DtypeOf {
  std::int64_t operator()(const at::Tensor& tensor) const {
    return static_cast<std::int64_t>(tensor.scalar_type());
  }
};

inline const Native<"aten::add.int(int a, int b) -> int", OfIntegers<std::plus<>>> add_int;
inline const Native<"aten::sub.int(int a, int b) -> int", OfIntegers<std::minus<>>> sub_int;
inline const Native<"aten::mul.int(int a, int b) -> int", OfIntegers<std::multiplies<>>> mul_int;
inline const Native<"aten::eq.int(int a, int b) -> bool", OfIntegers<std::equal_to<>>> eq_int;
inline const Native<"aten::ne.int(int a, int b) -> bool", OfIntegers<std::not_equal_to<>>> ne_int;
inline const Native<"aten::lt.int(int a, int b) -> bool", OfIntegers<std::less<>>> lt_int;
inline const Native<"aten::le.int(int a, int b) -> bool", OfIntegers<std::less_equal<>>> le_int;
inline const Native<"aten::gt.int(int a, int b) -> bool", OfIntegers<std::greater<>>> gt_int;
inline const Native<"aten::ge.int(int a, int b) -> bool", OfIntegers<std::greater_equal<>>> ge_int;
inline const Native<"aten::add.float(float a, float b) -> float", OfFloats<std::plus<>>> add_float;
inline const Native<"aten::sub.float(float a, float b) -> float", OfFloats<std::minus<>>> sub_float;
inline const Native<"aten::mul.float(float a, float b) -> float", OfFloats<std::multiplies<>>> mul_float;
inline const Native<"aten::lt.float(float a, float b) -> bool", OfFloats<std::less<>>> lt_float;
inline const Native<"aten::gt.float(float a, float b) -> bool", OfFloats<std::greater<>>> gt_float;
inline const Native<"aten::__not__(bool self) -> bool", Not> not_;
inline const Native<"aten::__is__(t1 self, t2 obj) -> bool", Is> is;
inline const Native<"aten::__isnot__(t1 self, t2 obj) -> bool", IsNot> is_not;
inline const Native<"aten::len.t(t[] a) -> int", Length> list_length;
inline const Native<"aten::len.Tensor(Tensor t) -> int", LengthOfTensor> tensor_length;
inline const Native<"prim::dtype(Tensor a) -> int", DtypeOf> dtype_of;

}  // namespace sr::ops
