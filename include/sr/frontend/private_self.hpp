// The object whose attributes a graph reads at run time, if any are left after freezing.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>

namespace sr {

namespace detail {

// True if a tensor may be written, or a callee may write one.
inline bool may_write_tensors(const torch::jit::Block* block) {
  return any_node(block, [](const torch::jit::Node* node) {
    const torch::jit::Operator* op = node->maybeOperator();
    if (op != nullptr && op->aliasAnalysisKind() == c10::AliasAnalysisKind::CONSERVATIVE) return true;
    if (node->kind() == c10::prim::fork || node->kind() == c10::prim::CallMethod ||
        node->kind() == c10::prim::CallFunction) {
      return true;
    }
    // Operators outside of the dispatcher work on containers.
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema != nullptr && schema->is_mutable() && dispatched(*node)) return true;
    return may_train_statistics(*node);
  });
}

// A copy of the object, which the graph may change. Tensors that it never writes are shared with the caller:
// a result that is one of them has to be the caller's tensor. Others are copied by `copies`, so that they
// share memory with the constants that it has copied.
inline c10::IValue private_self(const c10::IValue& self, const torch::jit::Graph& graph,
                                FreshCopies& copies) {
  return copies.copy_object(self, may_write_tensors(graph.block()));
}

}  // namespace detail

}  // namespace sr
