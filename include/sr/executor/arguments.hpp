// Binds the arguments of a call to the parameters of the schema as Python does: positional, keyword, default.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>

namespace sr {

namespace detail {

// Throws an ArgumentError about one argument.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_argument(const c10::FunctionSchema& schema,
                                                                   std::size_t position,
                                                                   const std::string& message) {
  throw ArgumentError(message, schema.arguments()[position].name());
}

inline std::string name_of(const c10::FunctionSchema& schema, std::size_t position) {
  return "argument " + std::to_string(position) + " ('" + schema.arguments()[position].name() + "') of " +
         schema.name();
}

// Checks dtype and sizes where the schema states them, as the schemas of exported programs do.
inline void check_tensor(const c10::FunctionSchema& schema, std::size_t position, const c10::TensorType& type,
                         const at::Tensor& tensor) {
  const auto wrong = [&](const std::string& given, const std::string& expected) {
    refuse_argument(schema, position,
                    "The tensor given for " + name_of(schema, position) + " " + given +
                        ", but the model was exported for " + expected + ".");
  };
  if (!tensor.defined()) wrong("is undefined", "one that is not");
  if (type.scalarType() && tensor.scalar_type() != *type.scalarType()) {
    wrong(std::string("is of type ") + c10::toString(tensor.scalar_type()),
          c10::toString(*type.scalarType()));
  }
  const c10::SymbolicShape& shape = type.symbolic_sizes();
  if (!shape.rank()) return;
  if (static_cast<std::size_t>(tensor.dim()) != *shape.rank()) {
    wrong("has " + std::to_string(tensor.dim()) + " dimensions", std::to_string(*shape.rank()));
  }
  for (std::size_t i = 0; i < *shape.rank(); ++i) {
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(i));
    if (!shape[i].is_static() || shape[i].static_size() == size) continue;
    wrong("has size " + std::to_string(size) + " in dimension " + std::to_string(i),
          std::to_string(shape[i].static_size()));
  }
}

inline bool belongs_to_transform(c10::DispatchKeySet keys) {
  constexpr c10::DispatchKeySet kTransforms{c10::DispatchKey::FuncTorchBatched,
                                            c10::DispatchKey::FuncTorchGradWrapper};
  return keys.has_any(kTransforms);
}

// True if operators can run on the tensor, which must be defined.
inline bool is_usable(const at::Tensor& tensor) {
  return tensor.is_cpu() && !belongs_to_transform(tensor.key_set()) && !tensor.is_nested() &&
         !has_no_memory(tensor);
}

// Throws ArgumentError with the reason why a tensor cannot be used.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_tensor(const c10::FunctionSchema& schema,
                                                                 std::size_t position,
                                                                 const at::Tensor& tensor, bool is_argument) {
  std::string why = "has no memory: its storage was freed, or never made.";
  if (belongs_to_transform(tensor.key_set())) {
    why =
        "belongs to a transform (torch.vmap, torch.func), which sr does not see. Call the model itself "
        "there.";
  } else if (!tensor.is_cpu()) {
    why = "is on " + tensor.device().str() + ", and sr runs on the CPU only. Move it with .to('cpu').";
  } else if (tensor.is_nested()) {
    why = "is nested, which sr does not run. Pad it (torch.nested.to_padded_tensor).";
  }
  refuse_argument(schema, position,
                  (is_argument ? "The tensor given for " : "A tensor in the value given for ") +
                      name_of(schema, position) + " " + why);
}

inline void check_argument(const c10::FunctionSchema& schema, std::size_t position,
                           const c10::IValue& value) {
  const c10::Argument& argument = schema.arguments()[position];
  if (value.isTensor()) {
    static const c10::Type* const any_tensor = c10::TensorType::get().get();
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && !is_usable(tensor)) refuse_tensor(schema, position, tensor, /*is_argument=*/true);
    const c10::Type* const type = argument.type().get();
    if (type == any_tensor) return;
    if (type->kind() == c10::TypeKind::TensorType)
      return check_tensor(schema, position, type->expectRef<c10::TensorType>(), tensor);
  }
  each_tensor(value, [&](const at::Tensor& tensor) {
    if (!is_usable(tensor)) refuse_tensor(schema, position, tensor, value.isTensor());
  });
  const c10::TypePtr given = value.type();
  if (!given->isSubtypeOfExt(*argument.type(), nullptr)) {
    refuse_argument(schema, position,
                    "The value given for " + name_of(schema, position) + " is of type " + given->repr_str() +
                        ", expected " + argument.type()->repr_str() + ".");
  }
}

inline std::string signature_of(const c10::FunctionSchema& schema) {
  std::string text = schema.name() + "(";
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    text += (i == 0 ? "" : ", ") + argument.type()->repr_str() + " " + argument.name();
    if (argument.default_value()) text += "=...";
  }
  return text + ")";
}

}  // namespace detail

// Calls store(position, value) for each argument of the schema, and moves from the given values. Makes all
// checks before the first store, so that a rejected call changes nothing. Throws ArgumentError.
template <class Store>
void bind_arguments(const c10::FunctionSchema& schema, std::span<c10::IValue> args, const KeywordArgs* kwargs,
                    Store store) {
  const std::size_t count = schema.arguments().size();
  if (args.size() > count) {
    throw ArgumentError("The call gives " + std::to_string(args.size()) + " positional arguments, but " +
                        detail::signature_of(schema) + " takes " + std::to_string(count) + ".");
  }
  for (std::size_t i = 0; i < args.size(); ++i) detail::check_argument(schema, i, args[i]);
  if (args.size() == count && (kwargs == nullptr || kwargs->empty())) {
    for (std::size_t i = 0; i < count; ++i) store(i, std::move(args[i]));
    return;
  }
  std::vector<c10::IValue> rest;
  std::size_t used = 0;
  for (std::size_t i = args.size(); i < count; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const auto named = kwargs == nullptr ? KeywordArgs::const_iterator() : kwargs->find(argument.name());
    if (kwargs != nullptr && named != kwargs->end()) {
      detail::check_argument(schema, i, named->second);
      rest.push_back(named->second);
      ++used;
    } else if (argument.default_value()) {
      rest.push_back(*argument.default_value());
    } else {
      detail::refuse_argument(schema, i,
                              "The call gives no value for " + detail::name_of(schema, i) + "; " +
                                  detail::signature_of(schema) + " has no default for it.");
    }
  }
  if (kwargs != nullptr && used != kwargs->size()) {
    for (const auto& [name, value] : *kwargs) {
      const auto position = schema.argumentIndexWithName(name);
      if (!position) {
        throw ArgumentError("The call names an argument '" + name + "', which " +
                                detail::signature_of(schema) + " does not have.",
                            name);
      }
      if (static_cast<std::size_t>(*position) < args.size()) {
        const auto twice = static_cast<std::size_t>(*position);
        detail::refuse_argument(
            schema, twice,
            "The call gives " + detail::name_of(schema, twice) + " twice: by position and by name.");
      }
    }
  }
  for (std::size_t i = 0; i < args.size(); ++i) store(i, std::move(args[i]));
  for (std::size_t i = args.size(); i < count; ++i) store(i, std::move(rest[i - args.size()]));
}

// Binds into `bound`, which then has one value for each argument.
inline void bind_arguments(const c10::FunctionSchema& schema, std::span<c10::IValue> args,
                           const KeywordArgs* kwargs, std::vector<c10::IValue>& bound) {
  bound.resize(schema.arguments().size());
  bind_arguments(schema, args, kwargs,
                 [&](std::size_t i, c10::IValue&& value) { bound[i] = std::move(value); });
}

// Returns one value for each argument. Allocates nothing if `args` has them all.
inline std::vector<c10::IValue> bind_arguments(const c10::FunctionSchema& schema,
                                               std::vector<c10::IValue> args, const KeywordArgs* kwargs) {
  if (args.size() == schema.arguments().size() && (kwargs == nullptr || kwargs->empty())) {
    bind_arguments(schema, args, nullptr, [](std::size_t, c10::IValue&&) {});
    return args;
  }
  std::vector<c10::IValue> bound;
  bind_arguments(schema, args, kwargs, bound);
  return bound;
}

}  // namespace sr
