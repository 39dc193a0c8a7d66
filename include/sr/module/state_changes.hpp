// True if a call can change values that outlive it: attributes of the module, constants of the graph, its
// arguments. A branch that one signature takes may write what the program of another signature has computed
// with.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/memory_origins.hpp>
#include <sr/graph/alias_rules.hpp>

namespace sr {

class StateChanges {
 public:
  explicit StateChanges(const torch::jit::Graph& graph) { visit(graph.block()); }

  // The first operator that changes such a value; empty if none does.
  const std::string& changed_by() const { return changed_by_; }
  // Sorted positions of the graph's inputs that may be written, or that contain a tensor that may be.
  const std::set<std::size_t>& written_inputs() const { return written_inputs_; }
  // Sorted positions of the graph's inputs that are or contain a list or dictionary whose elements may
  // change.
  const std::set<std::size_t>& changed_inputs() const { return changed_inputs_; }

 private:
  void visit(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::SetAttr || node->kind() == c10::prim::CallMethod) note(node);
      detail::each_written(*node, [&](std::size_t i) { note_origins(node->input(i), node); });
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

  // Notes `writer` if the value may be, or share memory with, a value that outlives the call.
  void note_origins(const torch::jit::Value* value, const torch::jit::Node* writer) {
    const bool is_container = detail::may_hold_container(value->type());
    detail::MemoryOrigins origins([&](const torch::jit::Value* origin) {
      if (origin->node()->kind() != c10::prim::Param || in_subgraph_) {
        note(writer);
      } else {
        (is_container ? changed_inputs_ : written_inputs_).insert(origin->offset());
      }
    });
    origins(value);
  }

  bool in_subgraph_ = false;
  std::string changed_by_;
  std::set<std::size_t> written_inputs_, changed_inputs_;
};

}  // namespace sr
