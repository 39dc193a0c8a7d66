// The values of a graph that the caller may be given: the results, and all values that they may be, contain
// or be views of.
#pragma once

#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/graph/alias_rules.hpp>
#include <sr/passes/barriers/attribute_values.hpp>

namespace sr {

namespace detail {

class Returned {
 public:
  Returned(const torch::jit::Graph& graph, const AttributeValues& value_of) : value_of_(&value_of) {
    for (const torch::jit::Value* output : graph.outputs()) add(output);
    add_kept(graph.block());
    while (!open_.empty()) {
      const torch::jit::Value* value = open_.back();
      open_.pop_back();
      follow(value);
    }
  }

  bool contains(const torch::jit::Value* value) const { return values_.count(value) != 0; }

  // The identities of constants and attributes among them.
  std::unordered_set<const void*> identities() const {
    std::unordered_set<const void*> known;
    for (const torch::jit::Value* value : values_) {
      if (const auto content = (*value_of_)(value)) add_identities(*content, known);
    }
    return known;
  }

 private:
  void add(const torch::jit::Value* value) {
    if (may_hold_tensor(value->type()) && values_.insert(value).second) open_.push_back(value);
  }
  void add_inputs(const torch::jit::Node* node) {
    for (const torch::jit::Value* input : node->inputs()) add(input);
  }

  // A value that is stored in a container, an attribute or another tensor, or passed to an op without alias
  // information, may be returned with it.
  void add_kept(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      const c10::FunctionSchema* schema = node->maybeSchema();
      const torch::jit::Operator* op = node->maybeOperator();
      const bool keeps = schema != nullptr && schema->is_mutable() &&
                         (!dispatched(*node) || has_fact(node->kind(), Fact::takes_storage));
      if (keeps || node->kind() == c10::prim::SetAttr || node->kind() == c10::prim::fork ||
          (op != nullptr && op->aliasAnalysisKind() == c10::AliasAnalysisKind::CONSERVATIVE)) {
        add_inputs(node);
      }
      for (const torch::jit::Block* inner : node->blocks()) add_kept(inner);
    }
  }

  void follow(const torch::jit::Value* value) {
    const torch::jit::Node* node = value->node();
    if (node->kind() == c10::prim::Param) node = node->owningBlock()->owningNode();
    if (node == nullptr || (*value_of_)(value)) return;  // an argument of the call, a constant, an attribute
    for (const torch::jit::Block* block : node->blocks()) {
      for (const torch::jit::Value* output : block->outputs()) add(output);
    }
    const auto handle = dispatched(*node);
    if (!handle) return add_inputs(node);
    if (c10::Dispatcher::singleton().findSchema({node->schema().name(), "out"}))
      return;  // linear: made, if composite
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (may_return_input(node->schema(), *handle, i)) add(node->input(i));
    }
  }

  const AttributeValues* value_of_;
  std::unordered_set<const torch::jit::Value*> values_;
  std::vector<const torch::jit::Value*> open_;
};

}  // namespace detail

}  // namespace sr
