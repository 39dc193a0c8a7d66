// Finds the constants and attributes that a graph writes, or may write.
#pragma once

#include <string>
#include <unordered_set>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/frontend/attribute_scope.hpp>
#include <sr/frontend/memory_origins.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>

namespace sr::detail {

class WrittenWeights {
 public:
  // The graph and its forks must be inlined.
  explicit WrittenWeights(const torch::jit::Graph& graph) : assigned_(names_assigned(graph)) {}

  // The names of attributes that the graph sets.
  const std::unordered_set<std::string>& assigned() const { return assigned_; }

  // The same for any graph, without the graphs that it calls.
  static std::unordered_set<std::string> names_assigned(const torch::jit::Graph& graph) {
    std::unordered_set<std::string> names;
    find_assigned(graph.block(), names);
    return names;
  }

  // Finds what the scope's graph writes.
  void find(AttributeScope& scope) {
    writes_tensors_ = writes_tensors(scope.graph().block());
    find(scope, scope.graph().block());
  }

  bool contains(const c10::IValue& value) const {
    std::unordered_set<const void*> parts;
    add_identities(value, parts);
    for (const void* part : parts) {
      if (written_.count(part) != 0) return true;
    }
    // Any element of the container may be the one that is written.
    return !value.isTensor() && (writes_tensors_ || !written_.empty() || !assigned_.empty());
  }

 private:
  static bool writes_tensors(const torch::jit::Block* block) {
    return any_node<Forks::enter>(block, [](const torch::jit::Node* node) {
      const c10::FunctionSchema* schema = node->maybeSchema();
      return schema != nullptr && schema->is_mutable() && dispatched(*node);
    });
  }

  static void find_assigned(const torch::jit::Block* block, std::unordered_set<std::string>& names) {
    each_node<Forks::enter>(block, [&](const torch::jit::Node* node) {
      if (node->kind() == c10::prim::SetAttr) names.insert(node->s(c10::attr::name));
    });
  }

  void find(AttributeScope& scope, torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      const torch::jit::Operator* op = node->maybeOperator();
      const bool is_unknown =
          op != nullptr && op->aliasAnalysisKind() == c10::AliasAnalysisKind::CONSERVATIVE;
      if (is_unknown || keeps_values(*node) || has_fact(node->kind(), Fact::takes_storage)) {
        for (torch::jit::Value* input : node->inputs()) add_origins(scope, input);
      } else {
        each_written(*node, [&](std::size_t i) { add_origins(scope, node->input(i)); });
      }
      if (node->kind() == c10::prim::fork) {
        AttributeScope body = scope.enter(node);
        find(body, body.graph().block());
      }
      for (torch::jit::Block* inner : node->blocks()) find(scope, inner);
    }
  }

  // Whether a value that is stored in an attribute or a container may be written through it.
  bool keeps_values(const torch::jit::Node& node) const {
    if (node.kind() == c10::prim::SetAttr) return true;
    const c10::FunctionSchema* schema = node.maybeSchema();
    return writes_tensors_ && schema != nullptr && schema->is_mutable() && !dispatched(node);
  }

  void add_origins(AttributeScope& scope, const torch::jit::Value* value) {
    if (!may_hold_tensor(value->type())) return;
    MemoryOrigins origins([&](const torch::jit::Value* origin) {
      if (origin->node()->kind() != c10::prim::Param) {
        const std::optional<c10::IValue> known = scope.value_of(origin);
        if (known && known->isPtrType() && !known->isObject()) add_identities(*known, written_);
      } else if (scope.fork() != nullptr && origin->offset() < scope.fork()->inputs().size()) {
        add_origins(*scope.outer(), scope.fork()->input(origin->offset()));
      }
    });
    origins(value);
  }

  std::unordered_set<std::string> assigned_;
  std::unordered_set<const void*> written_;  // identities
  bool writes_tensors_ = false;              // somewhere in the graph
};

}  // namespace sr::detail
