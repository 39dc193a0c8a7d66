// What types and schemas say about aliases: which values can hold a tensor, and which results may be an
// input.
#pragma once

#include <algorithm>
#include <optional>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/operator_facts.hpp>

namespace sr {

namespace detail {

inline bool may_hold_tensor(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::GeneratorType:
    case c10::TypeKind::EnumType:
      return false;
    case c10::TypeKind::ListType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::TupleType:
    case c10::TypeKind::DictType: {
      const auto contained = type->containedTypes();
      return std::any_of(contained.begin(), contained.end(), may_hold_tensor);
    }
    default:
      return true;
  }
}

inline bool may_hold_container(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::ListType || type->kind() == c10::TypeKind::DictType) return true;
  const auto contained = type->containedTypes();
  return type->kind() == c10::TypeKind::AnyType ||
         std::any_of(contained.begin(), contained.end(), may_hold_container);
}

// True if attributes of other objects may be reached through a value of the type.
inline bool may_hold_object(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
    case c10::TypeKind::AnyType:
      return true;
    default:
      return std::ranges::any_of(type->containedTypes(), may_hold_object);
  }
}

// visit(i) for each argument that the schema says is written, of the first `count`.
template <class Visit>
void each_written(const c10::FunctionSchema& schema, std::size_t count, const Visit& visit) {
  for (std::size_t i = 0; i < schema.arguments().size() && i < count; ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) visit(i);
  }
}

// True if a norm trains, see Fact::trains_statistics.
inline bool may_train_statistics(const torch::jit::Node& node) {
  if (!has_fact(node.kind(), Fact::trains_statistics) || node.inputs().size() <= 5) return false;
  const auto is_given = [&](std::size_t i) {
    return node.input(i)->type()->kind() != c10::TypeKind::NoneType;
  };
  return (is_given(3) || is_given(4)) && torch::jit::toIValue(node.input(5)) != c10::IValue(false);
}

// visit(i) for each of the node's inputs that it may write.
template <class Visit>
void each_written(const torch::jit::Node& node, const Visit& visit) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr) return;
  each_written(*schema, node.inputs().size(), visit);
  if (!may_train_statistics(node)) return;
  visit(std::size_t{3});
  visit(std::size_t{4});
}

// The operator that the node calls through the dispatcher. Nothing for control flow and for operators of the
// language on numbers and containers.
inline std::optional<c10::OperatorHandle> dispatched(const torch::jit::Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr || node.kind().is_prim()) return std::nullopt;
  return c10::Dispatcher::singleton().findSchema(schema->operator_name());
}

// A composite op is implemented by other ops: even without an alias annotation it may return its input
// (dropout in evaluation, type_as, atleast_1d). An op with its own kernel makes new results.
inline bool may_return_input(const c10::FunctionSchema& schema, const c10::OperatorHandle& handle,
                             std::size_t i) {
  const auto annotated = [](const c10::Argument& argument) { return argument.alias_info() != nullptr; };
  if (std::any_of(schema.returns().begin(), schema.returns().end(), annotated))
    return i >= schema.arguments().size() || annotated(schema.arguments()[i]);
  if (has_fact(c10::Symbol::fromQualString(schema.name()), Fact::makes_new_results)) return false;
  if (fact_table().makes_new_results(c10::toString(schema.operator_name()))) return false;
  return handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

}  // namespace detail

}  // namespace sr
