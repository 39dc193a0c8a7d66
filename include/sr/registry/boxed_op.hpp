// The fallback: LibTorch's own operator on boxed arguments, and the out variant that every ATen op with an
// `.out` overload gets without a functor of ours. Holds the state of one node, which the module owns and all
// threads read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/base/borrowed.hpp>
#include <sr/base/identity.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/graph/operator_facts.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/graph/ran_nodes.hpp>
#include <sr/registry/operator_entry.hpp>
#include <sr/registry/out_protocol.hpp>

namespace sr {

struct BoxedOp {
  torch::jit::Operation operation{nullptr};
  std::optional<c10::OperatorHandle> out_overload;  // generic out variant

  static void run_fallback(const void*, NodeView& view) {
    if (view.frame().ran != nullptr && view.frame().ran->take(view)) return;
    const auto& guarded = view.processed().guarded_inputs;
    if (guarded.empty()) return call_boxed(view);
    c10::SmallVector<std::size_t, 8> holders;
    for (const std::uint32_t i : guarded) holders.push_back(holders_of(view.input(i)));
    call_boxed(view);
    for (std::size_t g = 0; g < guarded.size(); ++g) {
      const c10::IValue& input = view.input(guarded[g]);
      if (!input.isTensor()) continue;
      const c10::StorageImpl* storage = detail::storage_of(input.toTensor());
      if (storage == nullptr || !memory::is_borrowed(*storage)) continue;
      for (std::size_t o = 0; o < view.output_count(); ++o) {
        // The op returned its input, although its schema says otherwise.
        if (detail::shares_storage(storage, view.output(o)) && view.output(o).isTensor()) {
          view.output(o) = view.output(o).toTensor().clone();
        }
      }
      // The op kept a reference to its input, in itself or in a result.
      if (holders_of(input) > holders[g])
        memory::detach(*input.toTensor().unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
    }
  }

  static void run_generic_out(const void* op, NodeView& view) {
    run_out_variant(view, &call_out_overload, op);
  }

  static void call_out_overload(const void* op, NodeView& view) {
    torch::jit::Stack& stack = view.frame().stack;
    stack.clear();
    for (std::size_t i = 0; i < view.input_count(); ++i) stack.push_back(view.input(i));
    for (std::size_t i = 0; i < view.output_count(); ++i) stack.push_back(view.output(i));
    static_cast<const BoxedOp*>(op)->out_overload->callBoxed(stack);
    stack.clear();
  }

  static std::size_t holders_of(const c10::IValue& value) {
    const c10::StorageImpl* storage = value.isTensor() ? detail::storage_of(value.toTensor()) : nullptr;
    return storage == nullptr ? 0 : value.use_count() + value.toTensor().storage().use_count();
  }
};

namespace detail {

// The overload of the node's op that takes the same arguments, and then a tensor to write for each tensor
// that is returned. Overloads that LibTorch generates, which call the functional op and copy, are left out:
// they would only add a copy.
inline std::optional<c10::OperatorHandle> find_out_overload(const torch::jit::Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (!dispatched(node) || schema->is_vararg() || schema->is_varret()) return std::nullopt;
  if (has_fact(node.kind(), Fact::out_differs)) return std::nullopt;
  const auto is_tensor = [](const c10::Argument& argument) {
    return argument.type()->kind() == c10::TypeKind::TensorType;
  };
  const auto& returns = schema->returns();
  const auto& arguments = schema->arguments();
  if (returns.empty() || !std::all_of(returns.begin(), returns.end(), is_tensor)) return std::nullopt;
  for (const c10::Argument& result : returns) {
    if (result.alias_info() != nullptr) return std::nullopt;
  }
  for (const std::shared_ptr<torch::jit::Operator>& candidate : torch::jit::getAllOperatorsFor(node.kind())) {
    const auto& target = candidate->schema();
    if (target.arguments().size() != arguments.size() + returns.size()) continue;
    bool fits = true;
    for (std::size_t i = 0; i < target.arguments().size() && fits; ++i) {
      const c10::Argument& argument = target.arguments()[i];
      const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
      fits = i < arguments.size() ? !is_written && argument.name() == arguments[i].name() &&
                                        *argument.type() == *arguments[i].type()
                                  : is_written && is_tensor(argument);
    }
    if (!fits) continue;
    auto handle = c10::Dispatcher::singleton().findSchema(target.operator_name());
    if (handle && !handle->hasTag(at::Tag::generated)) return handle;
  }
  return std::nullopt;
}

}  // namespace detail

// Runs the node through LibTorch's dispatcher, for modes that kernels called directly would not obey.
inline void run_dispatched(NodeView& view) {
  const ProcessedNode& node = view.processed();
  if (node.kind == NodeKind::out_variant) return detail::run_by_interpreter(view);
  const bool past_dispatcher =
      node.kind == NodeKind::native && node.interpreter != nullptr && detail::dispatched(*node.node);
  if (past_dispatcher) return call_boxed(view);
  node.function(view);
}

}  // namespace sr
