// The origins of a value's memory.
#pragma once

#include <unordered_set>
#include <utility>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <sr/graph/alias_rules.hpp>

namespace sr::detail {

// Calls visit(origin) for each constant, attribute and parameter of the graph that a value may be, or share
// memory with. A list or dictionary counts as a container; the tensors in it are not its memory.
template <class Visit>
class MemoryOrigins {
 public:
  explicit MemoryOrigins(Visit visit) : visit_(std::move(visit)) {}

  void operator()(const torch::jit::Value* value) {
    seen_.clear();
    is_container_ = may_hold_container(value->type());
    if (follows(value->type())) trace(value);  // a None has no memory
  }

 private:
  bool follows(const c10::TypePtr& type) const {
    return is_container_ ? may_hold_container(type) : may_hold_tensor(type);
  }

  void trace(const torch::jit::Value* value) {
    if (!seen_.insert(value).second) return;
    const torch::jit::Node* node = value->node();
    switch (node->kind()) {
      case c10::prim::Constant:
      case c10::prim::GetAttr:
        return visit_(value);
      case c10::prim::Param:
        return trace_parameter(value);
      case c10::prim::If:
        for (const torch::jit::Block* block : node->blocks()) trace(block->outputs()[value->offset()]);
        return;
      case c10::prim::Loop:
        trace(node->input(value->offset() + 2));
        return trace(node->blocks()[0]->outputs()[value->offset() + 1]);
      default:
        return trace_inputs(value);
    }
  }

  void trace_parameter(const torch::jit::Value* value) {
    const torch::jit::Node* loop = value->node()->owningBlock()->owningNode();
    if (loop == nullptr) return visit_(value);
    if (value->offset() == 0) return;  // the trip count comes before what is carried
    trace(loop->input(value->offset() + 1));
    trace(value->node()->owningBlock()->outputs()[value->offset()]);
  }

  // True if an operator of TorchScript's own makes the list: `[1] * n`, `a + b`. Its schema would say if that
  // were an argument. Lists in a new list may be old ones.
  bool is_new_list(const torch::jit::Value* value) const {
    const torch::jit::Node* node = value->node();
    const auto list = value->type()->cast<c10::ListType>();
    if (!list || may_hold_container(list->getElementType())) return false;
    if (!node->kind().is_aten() || node->maybeSchema() == nullptr) return false;
    const torch::jit::Operator* const op = node->maybeOperator();
    return op != nullptr && op->aliasAnalysisKind() == c10::AliasAnalysisKind::FROM_SCHEMA &&
           node->schema().returns()[value->offset()].alias_info() == nullptr;
  }

  void trace_inputs(const torch::jit::Value* value) {
    const torch::jit::Node* node = value->node();
    const auto handle = dispatched(*node);
    if (!handle && is_container_ && is_new_list(value)) return;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (!follows(node->input(i)->type())) continue;
      if (!handle || may_return_input(node->schema(), *handle, i)) trace(node->input(i));
    }
  }

  Visit visit_;
  bool is_container_ = false;
  std::unordered_set<const torch::jit::Value*> seen_;
};

}  // namespace sr::detail
