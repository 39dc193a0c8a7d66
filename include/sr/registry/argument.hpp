// Unboxes arguments: one small specialisation for each parameter type that a functor may have. A
// specialisation says which schema types it takes, and holds the unboxed argument during a call.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <sr/registry/schema.hpp>

namespace sr {

template <class T>
struct Argument;  // not specialised: a functor cannot have a parameter of type T

template <>
struct Argument<at::Tensor> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::tensor; }
  explicit Argument(const c10::IValue& value) : tensor(value.toTensor()) {}
  const at::Tensor& get() const { return tensor; }
  const at::Tensor& tensor;
};

template <>
struct Argument<std::optional<at::Tensor>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_tensor; }
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) tensor = value.toTensor();
  }
  const std::optional<at::Tensor>& get() const { return tensor; }
  std::optional<at::Tensor> tensor;
};

// `const at::Tensor*` for "Tensor?": null means None, and no reference is counted.
template <>
struct Argument<const at::Tensor*> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_tensor; }
  explicit Argument(const c10::IValue& value) : tensor(value.isNone() ? nullptr : &value.toTensor()) {}
  const at::Tensor* get() const { return tensor; }
  const at::Tensor* tensor;
};

template <>
struct Argument<at::ITensorListRef> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::tensor_list; }
  explicit Argument(const c10::IValue& value) : list(value.toTensorList()) {}
  at::ITensorListRef get() const { return at::ITensorListRef(list); }
  c10::List<at::Tensor> list;
};

template <>
struct Argument<at::TensorList> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::tensor_list; }
  explicit Argument(const c10::IValue& value) : tensors(value.toTensorVector()) {}
  at::TensorList get() const { return tensors; }
  std::vector<at::Tensor> tensors;
};

template <>
struct Argument<std::int64_t> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::integer; }
  explicit Argument(const c10::IValue& value) : number(value.toInt()) {}
  std::int64_t get() const { return number; }
  std::int64_t number;
};

template <>
struct Argument<std::optional<std::int64_t>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_integer; }
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) number = value.toInt();
  }
  std::optional<std::int64_t> get() const { return number; }
  std::optional<std::int64_t> number;
};

template <>
struct Argument<at::IntArrayRef> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::integer_list; }
  explicit Argument(const c10::IValue& value) {
    for (const std::int64_t item : value.toIntList()) items.push_back(item);
  }
  at::IntArrayRef get() const { return items; }
  c10::SmallVector<std::int64_t, 6> items;
};

template <>
struct Argument<at::OptionalIntArrayRef> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_integer_list; }
  explicit Argument(const c10::IValue& value) : present(!value.isNone()) {
    if (!present) return;
    for (const std::int64_t item : value.toIntList()) items.push_back(item);
  }
  at::OptionalIntArrayRef get() const {
    return present ? std::optional(at::IntArrayRef(items)) : std::nullopt;
  }
  bool present;
  c10::SmallVector<std::int64_t, 6> items;
};

template <>
struct Argument<double> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::floating; }
  explicit Argument(const c10::IValue& value) : number(value.toDouble()) {}
  double get() const { return number; }
  double number;
};

template <>
struct Argument<std::optional<double>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_floating; }
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) number = value.toDouble();
  }
  std::optional<double> get() const { return number; }
  std::optional<double> number;
};

template <>
struct Argument<bool> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::boolean; }
  explicit Argument(const c10::IValue& value) : flag(value.toBool()) {}
  bool get() const { return flag; }
  bool flag;
};

template <>
struct Argument<std::optional<bool>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_boolean; }
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) flag = value.toBool();
  }
  std::optional<bool> get() const { return flag; }
  std::optional<bool> flag;
};

template <>
struct Argument<c10::complex<double>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::complex; }
  explicit Argument(const c10::IValue& value) : number(value.toComplexDouble()) {}
  c10::complex<double> get() const { return number; }
  c10::complex<double> number;
};

template <>
struct Argument<at::Scalar> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::scalar; }
  explicit Argument(const c10::IValue& value) : scalar(value.toScalar()) {}
  const at::Scalar& get() const { return scalar; }
  at::Scalar scalar;
};

template <>
struct Argument<std::optional<at::Scalar>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_scalar; }
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) scalar = value.toScalar();
  }
  const std::optional<at::Scalar>& get() const { return scalar; }
  std::optional<at::Scalar> scalar;
};

template <>
struct Argument<std::string_view> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::string; }
  explicit Argument(const c10::IValue& value) : text(value.toStringView()) {}
  std::string_view get() const { return text; }
  std::string_view text;
};

template <>
struct Argument<std::optional<std::string_view>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_string; }
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) text = value.toStringView();
  }
  std::optional<std::string_view> get() const { return text; }
  std::optional<std::string_view> text;
};

template <>
struct Argument<at::ScalarType> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::dtype; }
  explicit Argument(const c10::IValue& value) : dtype(value.toScalarType()) {}
  at::ScalarType get() const { return dtype; }
  at::ScalarType dtype;
};

template <>
struct Argument<std::optional<at::ScalarType>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::optional_dtype; }
  explicit Argument(const c10::IValue& value) {
    if (!value.isNone()) dtype = value.toScalarType();
  }
  std::optional<at::ScalarType> get() const { return dtype; }
  std::optional<at::ScalarType> dtype;
};

// A boxed value for any schema type, such as those without a specialisation (devices, memory formats,
// dictionaries).
template <>
struct Argument<c10::IValue> {
  static constexpr bool takes(ArgumentKind) { return true; }
  explicit Argument(const c10::IValue& boxed) : value(boxed) {}
  const c10::IValue& get() const { return value; }
  const c10::IValue& value;
};

}  // namespace sr
