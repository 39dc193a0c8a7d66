// Makes attributes that a graph never writes constants of the graph.
#pragma once

#include <memory>
#include <optional>
#include <unordered_set>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/frontend/attribute_scope.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/frontend/written_weights.hpp>

namespace sr::detail {

// Replaces attributes by constants if the graph and its forks read and never write them. It does so for
// numbers, strings and tensors. Freezing would do the same, but it then merges equal constants before sr can
// mark the ones that differ in their bits (passes/constant_bits.hpp).
class KnownAttributes {
 public:
  // `self` is the module that the graph's first input stands for. The graph must be inlined, and call no
  // methods.
  KnownAttributes(const std::shared_ptr<torch::jit::Graph>& graph, const c10::IValue& self)
      : written_(graph, self) {
    AttributeScope top(graph, self, written_.assigned());
    each_node_in_scope(top, graph->block(), [&](AttributeScope& scope, torch::jit::Node* node) {
      if (node->kind() == c10::prim::GetAttr && node->output()->hasUses()) replace(scope, node);
    });
  }

 private:
  void replace(AttributeScope& scope, torch::jit::Node* node) {
    const std::optional<c10::IValue> value = scope.value_of(node->output());
    if (!value || !(value->isScalar() || value->isString() || value->isNone() || is_unwritten(*value)))
      return;
    const torch::jit::WithInsertPoint before(node);
    const auto constant = torch::jit::tryInsertConstant(scope.graph(), without_gradients(*value));
    if (constant) node->output()->replaceAllUsesWith(*constant);
  }

  bool is_unwritten(const c10::IValue& value) const {
    return value.isTensor() && can_be_weight(value.toTensor()) &&
           written_.identities().count(identity_of(value)) == 0;
  }

  WrittenWeights written_;
};

}  // namespace sr::detail
