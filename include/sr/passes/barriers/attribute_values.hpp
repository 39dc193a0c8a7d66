// Values of a graph that are known before it runs: constants, and attributes of the module that the graph
// never sets.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>

namespace sr {

namespace detail {

class AttributeValues {
 public:
  // `self` is the module that the graph's first input stands for, or None.
  AttributeValues(const torch::jit::Graph& graph, c10::IValue self) : graph_(&graph), self_(std::move(self)) {
    find_written(graph.block());
  }

  std::optional<c10::IValue> operator()(const torch::jit::Value* value) const {
    const torch::jit::Node* node = value->node();
    if (node->kind() == c10::prim::Constant) return torch::jit::toIValue(value);
    if (is_self(value)) return self_;
    if (node->kind() != c10::prim::GetAttr || written_.count(node->s(c10::attr::name)) != 0)
      return std::nullopt;
    const std::optional<c10::IValue> object = (*this)(node->input());
    if (!object || !object->isObject()) return std::nullopt;
    return object->toObjectRef().getAttr(node->s(c10::attr::name));
  }

  bool is_self(const torch::jit::Value* value) const {
    return !self_.isNone() && value == graph_->inputs()[0];
  }

 private:
  void find_written(const torch::jit::Block* block) {
    sr::detail::each_node(block, [&](const torch::jit::Node* node) {
      if (node->kind() == c10::prim::SetAttr) written_.insert(node->s(c10::attr::name));
    });
  }

  const torch::jit::Graph* graph_;
  c10::IValue self_;
  std::unordered_set<std::string> written_;
};

}  // namespace detail

}  // namespace sr
