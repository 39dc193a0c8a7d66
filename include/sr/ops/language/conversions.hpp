// Conversions between tensors, numbers and strings: int(x), float(x), x.item(), x.tolist(), tensors of one
// number.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>
#include <ATen/native/Resize.h>

#include <sr/ops/language/number_step.hpp>
#include <sr/ops/language/numbers.hpp>
#include <sr/registry/op.hpp>

namespace sr::ops {

template <class From, class To>
struct Converted {
  To operator()(From a) const { return static_cast<To>(a); }
};
struct BoolOfTensor {
  bool operator()(const at::Tensor& a) const { return at::native::is_nonzero(a); }
};
template <class Number>
struct NumberOfTensor {
  Number operator()(const at::Tensor& a) const { return a.item<Number>(); }
};
struct ScalarOfTensor {
  at::Scalar operator()(const at::Tensor& a) const { return a.item(); }
};

// Implicit conversion of a tensor to a number. Throws std::runtime_error, as LibTorch does here.
inline void check_implicit(const at::Tensor& tensor, bool to_integer) {
  if (tensor.requires_grad())
    throw std::runtime_error("Cannot input a tensor that requires grad as a scalar argument");
  if (tensor.dim() != 0)
    throw std::runtime_error("Cannot input a tensor of dimension other than 0 as a scalar argument");
  if (to_integer && !c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false)) {
    throw std::runtime_error(std::string("Cannot input a tensor of type ") +
                             c10::toString(tensor.scalar_type()) + " as an integral argument");
  }
}
template <class Number>
struct ImplicitNumber {
  Number operator()(const at::Tensor& a) const {
    check_implicit(a, std::is_same_v<Number, std::int64_t>);
    return a.item<Number>();
  }
};
struct ImplicitScalar {
  at::Scalar operator()(const at::Tensor& a) const {
    check_implicit(a, false);
    return a.item();
  }
};

struct IntOfScalar {
  std::int64_t operator()(const c10::IValue& a) const {
    return a.isInt() ? a.toInt() : static_cast<std::int64_t>(a.toScalar().toInt());
  }
};
struct FloatOfScalar {
  double operator()(const c10::IValue& a) const {
    if (a.isDouble()) return a.toDouble();
    return a.isComplexDouble() ? a.toComplexDouble().real() : static_cast<double>(a.toInt());
  }
};

// Parses a whole string as a number literal of Python.
struct IntOfString {
  std::int64_t operator()(std::string_view text) const {
    const std::string literal(text);
    std::size_t read = 0;
    const std::int64_t number = std::stoll(literal, &read);
    if (read == literal.size()) return number;
    throw std::runtime_error("invalid literal for int() with base 10: '" + literal + "'");
  }
};
struct FloatOfString {
  double operator()(std::string_view text) const {
    const std::string literal(text);
    std::size_t read = 0;
    const double number = std::stod(literal, &read);
    if (read == literal.size()) return number;
    throw std::runtime_error("could not convert string to float: '" + literal + "'");
  }
};

// Makes a 0-dim tensor of the number's type.
struct NumberToTensor {
  void operator()(NodeView& node) const {
    at::Tensor& out = node.output(0).toTensor();
    at::native::resize_output(out, {});
    at::native::fill_(out, node.input(0).toScalar());
  }
};

// x.tolist() with the annotated number of dimensions and element type (int, float, bool, complex).
struct ToList {
  void operator()(NodeView& node) const {
    at::Tensor tensor = node.input(0).toTensor().cpu();
    const std::int64_t dims = node.input(1).toInt();
    c10::TypePtr type = element_type(node.input(2).toInt());
    const bool fits = (type->kind() == c10::TypeKind::FloatType && tensor.is_floating_point()) ||
                      (type->kind() == c10::TypeKind::ComplexType && tensor.is_complex()) ||
                      c10::tryScalarTypeFromJitType(*type) == tensor.scalar_type();
    TORCH_CHECK(fits,
                "Output annotation element type and runtime tensor element type must match for tolist(): ",
                *c10::tryScalarTypeFromJitType(*type), " vs ", tensor.scalar_type());
    TORCH_CHECK(dims == tensor.dim(),
                "Output annotation list dimension and runtime tensor dimension must match for tolist()");
    for (std::int64_t d = 0; d < dims; ++d) type = c10::ListType::create(type);
    if (tensor.is_floating_point()) {
      TORCH_CHECK(tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble,
                  "Unexpected scalar type for Tensor");
      tensor = tensor.to(at::kDouble);
    }
    if (tensor.is_complex()) tensor = tensor.to(at::kComplexDouble);
    tensor = tensor.contiguous();
    const auto* bytes = static_cast<const char*>(tensor.const_data_ptr());
    node.output(0) = list_of(tensor, 0, bytes, *type);
  }

 private:
  static c10::TypePtr element_type(std::int64_t number) {
    switch (number) {
      case 0:
        return c10::IntType::get();
      case 1:
        return c10::FloatType::get();
      case 2:
        return c10::BoolType::get();
      case 3:
        return c10::ComplexType::get();
      default:
        TORCH_CHECK(false,
                    "Unsupported element type for tolist; only int, float, complex and bool are supported");
    }
  }

  static c10::IValue list_of(const at::Tensor& tensor, std::int64_t dim, const char*& bytes,
                             const c10::Type& type) {
    if (dim == tensor.dim()) return element(tensor, bytes);
    const c10::TypePtr inner = type.expectRef<c10::ListType>().getElementType();
    c10::impl::GenericList list(inner);
    list.reserve(static_cast<std::size_t>(tensor.size(dim)));
    for (std::int64_t i = 0; i < tensor.size(dim); ++i)
      list.push_back(list_of(tensor, dim + 1, bytes, *inner));
    return list;
  }

  static c10::IValue element(const at::Tensor& tensor, const char*& bytes) {
    const char* const here = bytes;
    bytes += tensor.element_size();
    switch (tensor.scalar_type()) {
      case at::kDouble:
        return *reinterpret_cast<const double*>(here);
      case at::kComplexDouble:
        return *reinterpret_cast<const Complex*>(here);
      case at::kBool:
        return *reinterpret_cast<const bool*>(here);
      default:
        return *reinterpret_cast<const std::int64_t*>(here);
    }
  }
};

namespace registered {

inline const Native<"aten::Bool.Tensor(Tensor a) -> bool", BoolOfTensor,
                    Lower<&replay::lower::read_number<bool>>>
    bool_of_tensor;
inline const Native<"aten::Bool.int(int a) -> bool", Converted<std::int64_t, bool>> bool_of_int;
inline const Native<"aten::Bool.float(float a) -> bool", Converted<double, bool>> bool_of_float;
inline const Native<"aten::Int.Tensor(Tensor a) -> int", NumberOfTensor<std::int64_t>,
                    Lower<&replay::lower::read_number<std::int64_t>>>
    int_of_tensor;
inline const Native<"aten::Int.bool(bool a) -> int", Converted<bool, std::int64_t>> int_of_bool;
inline const Native<"aten::Int.float(float a) -> int", Converted<double, std::int64_t>> int_of_float;
inline const Native<"aten::Int.Scalar(Scalar a) -> int", IntOfScalar> int_of_scalar;
inline const Native<"aten::Int.str(str a) -> int", IntOfString> int_of_string;
inline const Native<"aten::Float.Tensor(Tensor a) -> float", NumberOfTensor<double>,
                    Lower<&replay::lower::read_number<double>>>
    float_of_tensor;
inline const Native<"aten::Float.int(int a) -> float", Converted<std::int64_t, double>> float_of_int;
inline const Native<"aten::Float.bool(bool a) -> float", Converted<bool, double>> float_of_bool;
inline const Native<"aten::Float.Scalar(Scalar a) -> float", FloatOfScalar> float_of_scalar;
inline const Native<"aten::Float.str(str a) -> float", FloatOfString> float_of_string;
inline const Native<"aten::IntImplicit(Tensor a) -> int", ImplicitNumber<std::int64_t>,
                    Lower<&replay::lower::read_number<std::int64_t>>>
    implicit_int;
inline const Native<"aten::FloatImplicit(Tensor a) -> float", ImplicitNumber<double>,
                    Lower<&replay::lower::read_number<double>>>
    implicit_float;
inline const Native<"aten::ScalarImplicit(Tensor a) -> Scalar", ImplicitScalar,
                    Lower<&replay::lower::read_number<replay::lower::NumberOfDtype>>>
    implicit_scalar;
inline const Native<"aten::item(Tensor self) -> Scalar", ScalarOfTensor,
                    Lower<&replay::lower::read_number<replay::lower::NumberOfDtype>>>
    item;
inline const NodeOp<"prim::NumToTensor", NumberToTensor, NodeKind::out_variant> number_to_tensor;
inline const NodeOp<"prim::tolist", ToList> to_list;

}  // namespace registered
}  // namespace sr::ops
