// Replaces results that are always one known value: the result of an operator in place, which is its first
// argument, and an output of a branch or loop that is the same value on all paths. A replay could not tell.
#pragma once

#include <cstddef>
#include <memory>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias_rules.hpp>

namespace sr::passes {

namespace detail {

// True if the operator writes its first argument in place and returns the same tensor. Custom operators are
// excluded, because their schemas may be wrong.
inline bool returns_operand(const torch::jit::Node& node) {
  const auto handle = sr::detail::dispatched(node);
  if (!handle || !node.kind().is_aten() || node.outputs().size() != 1 || node.inputs().empty()) return false;
  const auto writes = [](const c10::Argument& argument) {
    return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  };
  const c10::FunctionSchema& schema = handle->schema();
  return schema.name().ends_with('_') && writes(schema.arguments()[0]) && writes(schema.returns()[0]) &&
         node.input(0)->type()->kind() == c10::TypeKind::TensorType &&
         node.output()->type()->kind() == c10::TypeKind::TensorType;
}

inline bool have_same_type(const torch::jit::Value* a, const torch::jit::Value* b) {
  return *a->type() == *b->type();
}

// Returns the value that both branches return, or null if they return different values. A value that one
// branch leaves uninitialized, as `break` and `return` do, is never read and counts as equal.
inline torch::jit::Value* same_of(torch::jit::Value* a, torch::jit::Value* b) {
  const auto is_unset = [](const torch::jit::Value* value) {
    return value->node()->kind() == c10::prim::Uninitialized;
  };
  return a == b || is_unset(b) ? a : is_unset(a) ? b : nullptr;
}

inline void use_same_of_branches(torch::jit::Node* branch) {
  const torch::jit::Block *const taken = branch->blocks()[0], *const other = branch->blocks()[1];
  for (std::size_t i = branch->outputs().size(); i-- > 0;) {
    torch::jit::Value* const value =
        same_of(branch->blocks()[0]->outputs()[i], branch->blocks()[1]->outputs()[i]);
    if (value == nullptr || value->node()->owningBlock() == taken || value->node()->owningBlock() == other ||
        !have_same_type(value, branch->output(i)))
      continue;
    branch->output(i)->replaceAllUsesWith(value);
    branch->eraseOutput(i);
    for (torch::jit::Block* block : branch->blocks()) block->eraseOutput(i);
  }
}

inline void use_same_of_loop(torch::jit::Node* loop) {
  torch::jit::Block* const body = loop->blocks()[0];
  for (std::size_t i = loop->outputs().size(); i-- > 0;) {
    torch::jit::Value* const carried = body->inputs()[i + 1];
    torch::jit::Value* const first = loop->input(i + 2);
    if (body->outputs()[i + 1] != carried || !have_same_type(carried, first) ||
        !have_same_type(loop->output(i), first))
      continue;
    body->eraseOutput(i + 1);
    carried->replaceAllUsesWith(first);
    loop->output(i)->replaceAllUsesWith(first);
    body->eraseInput(i + 1);
    loop->eraseOutput(i);
    loop->removeInput(i + 2);
  }
}

inline void use_same_values(torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) use_same_values(inner);
    if (node->kind() == c10::prim::If) {
      use_same_of_branches(node);
    } else if (node->kind() == c10::prim::Loop) {
      use_same_of_loop(node);
    } else if (returns_operand(*node)) {
      node->output()->replaceAllUsesWith(node->input(0));
    }
  }
}

}  // namespace detail

inline void use_same_values(std::shared_ptr<torch::jit::Graph>& graph) {
  detail::use_same_values(graph->block());
}

}  // namespace sr::passes
