// Whether a call can change what outlives it: attributes of the module, constants of the graph, its
// arguments. A branch that one signature takes may write what the plan of another has computed with.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/alias_rules.hpp>

namespace sr {

class StateChanges {
 public:
  explicit StateChanges(const torch::jit::Graph& graph) { visit(graph.block()); }

  // The operator that does, of several the first; empty: none.
  const std::string& changed_by() const { return changed_by_; }
  // Positions of the graph's inputs that may be written, or have a tensor in them that may be; sorted.
  const std::set<std::size_t>& written_inputs() const { return written_inputs_; }

 private:
  void visit(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::SetAttr || node->kind() == c10::prim::CallMethod) note(node);
      detail::each_written(*node, [&](std::size_t i) {
        seen_.clear();
        follow_ = detail::may_hold_container(node->input(i)->type()) ? &detail::may_hold_container
                                                                     : &detail::may_hold_tensor;
        trace(node->input(i), node);
      });
      for (const torch::jit::Block* inner : node->blocks()) visit(inner);
      if (node->hasAttribute(c10::attr::Subgraph)) {
        const bool outer = std::exchange(in_subgraph_, true);
        visit(node->g(c10::attr::Subgraph)->block());
        in_subgraph_ = outer;
      }
    }
  }

  void note(const torch::jit::Node* node) {
    if (changed_by_.empty()) changed_by_ = node->kind().toQualString();
  }

  // Notes `writer` if the value may be, or share memory with, what outlives the call.
  void trace(const torch::jit::Value* value, const torch::jit::Node* writer) {
    if (!seen_.insert(value).second) return;
    const torch::jit::Node* node = value->node();
    switch (node->kind()) {
      case c10::prim::Constant:
      case c10::prim::GetAttr:
        return note(writer);
      case c10::prim::Param:
        return trace_parameter(value, writer);
      case c10::prim::If:
        for (const torch::jit::Block* block : node->blocks())
          trace(block->outputs()[value->offset()], writer);
        return;
      case c10::prim::Loop:
        trace(node->input(value->offset() + 2), writer);
        return trace(node->blocks()[0]->outputs()[value->offset() + 1], writer);
      default:
        return trace_inputs(node, writer);
    }
  }

  void trace_parameter(const torch::jit::Value* value, const torch::jit::Node* writer) {
    const torch::jit::Node* loop = value->node()->owningBlock()->owningNode();
    if (loop != nullptr) {  // the trip count comes before what is carried
      if (value->offset() == 0) return;
      trace(loop->input(value->offset() + 1), writer);
      trace(value->node()->owningBlock()->outputs()[value->offset()], writer);
    } else if (in_subgraph_) {
      note(writer);
    } else if (follow_ == &detail::may_hold_tensor) {
      written_inputs_.insert(value->offset());
    }
  }

  void trace_inputs(const torch::jit::Node* node, const torch::jit::Node* writer) {
    const auto handle = detail::dispatched(*node);
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (!follow_(node->input(i)->type())) continue;
      if (!handle || detail::may_return_input(node->schema(), *handle, i)) trace(node->input(i), writer);
    }
  }

  bool in_subgraph_ = false;
  // What a value may have got the written memory from: of a list, other lists, not the tensors in it.
  bool (*follow_)(const c10::TypePtr& type) = nullptr;
  std::unordered_set<const torch::jit::Value*> seen_;
  std::string changed_by_;
  std::set<std::size_t> written_inputs_;
};

}  // namespace sr
