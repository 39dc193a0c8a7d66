// Finds the inputs, constants and attributes that a graph writes, or may write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/frontend/assigned_attributes.hpp>
#include <sr/frontend/attribute_scope.hpp>
#include <sr/frontend/memory_origins.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>

namespace sr::detail {

class WrittenWeights {
 public:
  // `self` is the module that the graph's first input stands for, or None. The graph and its forks must be
  // inlined.
  WrittenWeights(const std::shared_ptr<torch::jit::Graph>& graph, const c10::IValue& self)
      : writes_tensors_(writes_tensors(graph->block())) {
    AttributeScope top(graph, self, assigned_);
    each_node<Forks::enter>(graph->block(), [&](const torch::jit::Node* node) {
      if (node->kind() == c10::prim::SetAttr && may_hold_object(node->input(1)->type()))
        assigned_.add_name(node->s(c10::attr::name));
    });
    each_node_in_scope(top, graph->block(), [&](AttributeScope& scope, torch::jit::Node* node) {
      if (node->kind() == c10::prim::SetAttr) note_assigned(scope, node);
    });
    each_node_in_scope(top, graph->block(),
                       [&](AttributeScope& scope, torch::jit::Node* node) { note_written(scope, node); });
  }

  // The attributes that the graph sets.
  const AssignedAttributes& assigned() const { return assigned_; }
  // Positions of the graph's inputs that it may write, or that contain what it may write.
  const std::set<std::size_t>& inputs() const { return inputs_; }
  // The storages and containers of attributes and constants that it may write.
  const std::unordered_set<const void*>& identities() const { return written_; }

 private:
  static bool writes_tensors(const torch::jit::Block* block) {
    return any_node<Forks::enter>(block, [](const torch::jit::Node* node) {
      const c10::FunctionSchema* schema = node->maybeSchema();
      return schema != nullptr && schema->is_mutable() && dispatched(*node);
    });
  }

  void note_assigned(AttributeScope& scope, const torch::jit::Node* node) {
    if (const auto place = scope.place_of(node)) {
      assigned_.add({place->object.get(), place->slot});
    } else {
      assigned_.add_name(node->s(c10::attr::name));
    }
  }

  void note_written(AttributeScope& scope, torch::jit::Node* node) {
    const torch::jit::Operator* op = node->maybeOperator();
    const bool is_unknown = op != nullptr && op->aliasAnalysisKind() == c10::AliasAnalysisKind::CONSERVATIVE;
    if (is_unknown || keeps_values(*node) || has_fact(node->kind(), Fact::takes_storage)) {
      for (torch::jit::Value* input : node->inputs()) add_origins(scope, input);
    } else {
      each_written(*node, [&](std::size_t i) { add_origins(scope, node->input(i)); });
    }
  }

  // True if a value that is stored in an attribute or a container may be written through it.
  bool keeps_values(const torch::jit::Node& node) const {
    if (node.kind() == c10::prim::SetAttr) return true;
    const c10::FunctionSchema* schema = node.maybeSchema();
    return writes_tensors_ && schema != nullptr && schema->is_mutable() && !dispatched(node);
  }

  void add_origins(AttributeScope& scope, const torch::jit::Value* value) {
    if (!may_hold_tensor(value->type())) return;
    MemoryOrigins origins([&](const torch::jit::Value* origin) {
      if (origin->node()->kind() != c10::prim::Param) {
        std::optional<c10::IValue> known = scope.value_of(origin);
        // An attribute that the graph sets has this value until then.
        if (const auto place = scope.place_of(origin); place && !known) known = place->value();
        if (known && known->isPtrType() && !known->isObject()) add_identities(*known, written_);
      } else if (scope.fork() == nullptr) {
        inputs_.insert(origin->offset());
      } else if (origin->offset() < scope.fork()->inputs().size()) {
        add_origins(*scope.outer(), scope.fork()->input(origin->offset()));
      }
    });
    origins(value);
  }

  AssignedAttributes assigned_;
  std::set<std::size_t> inputs_;
  std::unordered_set<const void*> written_;  // identities
  bool writes_tensors_ = false;              // somewhere in the graph
};

}  // namespace sr::detail
