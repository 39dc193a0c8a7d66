// The arguments of LibTorch's structured kernels.
#pragma once

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Scalar.h>
#include <c10/util/string_view.h>

#include <sr/replay/lowering/iterator_maker.hpp>

namespace sr::replay {

// How an argument of a structured kernel is taken from a node, kept, and passed.
template <class T>
struct KernelArgument;

template <>
struct KernelArgument<const at::Tensor&> {
  at::Tensor kept;
  bool take(IteratorMaker& maker, const c10::IValue& value) {
    return (kept = maker.argument(value)).defined();
  }
  const at::Tensor& pass() const { return kept; }
};
template <>
struct KernelArgument<at::OptionalTensorRef> {
  at::Tensor kept;
  bool take(IteratorMaker& maker, const c10::IValue& value) {
    return value.isNone() || (kept = maker.argument(value)).defined();
  }
  at::OptionalTensorRef pass() const {
    return kept.defined() ? at::OptionalTensorRef(kept) : at::OptionalTensorRef();
  }
};
template <>
struct KernelArgument<const at::Scalar&> {
  at::Scalar kept;
  bool take(IteratorMaker&, const c10::IValue& value) {
    if (!value.isScalar()) return false;
    kept = value.toScalar();
    return true;
  }
  const at::Scalar& pass() const { return kept; }
};
template <>
struct KernelArgument<at::OptionalScalarRef> {
  std::optional<at::Scalar> kept;
  bool take(IteratorMaker&, const c10::IValue& value) {
    if (value.isScalar()) kept = value.toScalar();
    return value.isScalar() || value.isNone();
  }
  at::OptionalScalarRef pass() const { return kept ? at::OptionalScalarRef(*kept) : at::OptionalScalarRef(); }
};
template <>
struct KernelArgument<c10::string_view> {
  std::string kept;
  bool take(IteratorMaker&, const c10::IValue& value) {
    if (value.isString()) kept = value.toStringRef();
    return value.isString();
  }
  c10::string_view pass() const { return kept; }
};
template <>
struct KernelArgument<std::optional<c10::string_view>> {
  std::optional<std::string> kept;
  bool take(IteratorMaker&, const c10::IValue& value) {
    if (value.isString()) kept = value.toStringRef();
    return value.isString() || value.isNone();
  }
  std::optional<c10::string_view> pass() const {
    return kept ? std::optional<c10::string_view>(*kept) : std::nullopt;
  }
};

}  // namespace sr::replay
