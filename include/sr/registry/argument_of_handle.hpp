// Unboxes arguments of the types that only the typed handles of ATen's operators take: symbolic sizes, which
// are plain numbers here, tensor options, lists with None among the elements.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/ATen_fwd.h>
#include <ATen/core/Generator.h>
#include <ATen/core/List.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/SymInt.h>
#include <c10/core/SymIntArrayRef.h>

#include <sr/registry/argument.hpp>

namespace sr {

template <>
struct Argument<c10::SymInt> : Argument<std::int64_t> {
  using Argument<std::int64_t>::Argument;
  c10::SymInt get() const { return number; }
};

template <>
struct Argument<std::optional<c10::SymInt>> : Argument<std::optional<std::int64_t>> {
  using Argument<std::optional<std::int64_t>>::Argument;
  std::optional<c10::SymInt> get() const {
    return number ? std::optional<c10::SymInt>(*number) : std::nullopt;
  }
};

template <>
struct Argument<c10::SymIntArrayRef> : Argument<at::IntArrayRef> {
  using Argument<at::IntArrayRef>::Argument;
  c10::SymIntArrayRef get() const { return c10::fromIntArrayRefSlow(items); }
};

template <>
struct Argument<at::OptionalSymIntArrayRef> : Argument<at::OptionalIntArrayRef> {
  using Argument<at::OptionalIntArrayRef>::Argument;
  at::OptionalSymIntArrayRef get() const {
    return present ? at::OptionalSymIntArrayRef(c10::fromIntArrayRefSlow(items))
                   : at::OptionalSymIntArrayRef();
  }
};

// Arguments for which the schema has its own type (Layout, Device, ...), and None where the C++ type
// allows it.
template <class T>
struct BoxedArgument {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::other; }
  explicit BoxedArgument(const c10::IValue& boxed) : value(boxed.to<T>()) {}
  const T& get() const { return value; }
  T value;
};

template <>
struct Argument<at::MemoryFormat> : BoxedArgument<at::MemoryFormat> {
  using BoxedArgument::BoxedArgument;
};
template <>
struct Argument<std::optional<at::MemoryFormat>> : BoxedArgument<std::optional<at::MemoryFormat>> {
  using BoxedArgument::BoxedArgument;
};
template <>
struct Argument<at::Layout> : BoxedArgument<at::Layout> {
  using BoxedArgument::BoxedArgument;
};
template <>
struct Argument<std::optional<at::Layout>> : BoxedArgument<std::optional<at::Layout>> {
  using BoxedArgument::BoxedArgument;
};
template <>
struct Argument<at::Device> : BoxedArgument<at::Device> {
  using BoxedArgument::BoxedArgument;
};
template <>
struct Argument<std::optional<at::Device>> : BoxedArgument<std::optional<at::Device>> {
  using BoxedArgument::BoxedArgument;
};
template <>
struct Argument<std::optional<at::Generator>> : BoxedArgument<std::optional<at::Generator>> {
  using BoxedArgument::BoxedArgument;
};

template <>
struct Argument<std::optional<at::ArrayRef<double>>> {
  static constexpr bool takes(ArgumentKind kind) { return kind == ArgumentKind::other; }
  explicit Argument(const c10::IValue& value) : present(!value.isNone()) {
    if (present) items = value.toDoubleVector();
  }
  std::optional<at::ArrayRef<double>> get() const {
    return present ? std::optional<at::ArrayRef<double>>(items) : std::nullopt;
  }
  bool present;
  std::vector<double> items;
};

// "Tensor?[]": tensors, with None among them. A list of tensors is accepted, too.
template <>
struct Argument<c10::List<std::optional<at::Tensor>>> {
  static constexpr bool takes(ArgumentKind kind) {
    return kind == ArgumentKind::other || kind == ArgumentKind::tensor_list;
  }
  explicit Argument(const c10::IValue& value) {
    const auto given = value.toListRef();
    tensors.reserve(given.size());
    for (const c10::IValue& tensor : given) {
      tensors.push_back(tensor.isNone() ? std::nullopt : std::optional<at::Tensor>(tensor.toTensor()));
    }
  }
  const c10::List<std::optional<at::Tensor>>& get() const { return tensors; }
  c10::List<std::optional<at::Tensor>> tensors;
};

}  // namespace sr
