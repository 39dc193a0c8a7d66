// Keeps the memory of constants whose changes sr does not follow.
#pragma once

#include <unordered_map>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/graph/each_node.hpp>

namespace sr::detail {

// Replaces each tensor in a constant by an alias, which holds the storage. A constant may be a tensor of the
// caller's. If the caller gave it other data (Tensor.set_data), its old storage would be freed while plans
// still read it. Must be called while the weights that sr follows are inputs of the graph.
inline void keep_constants(torch::jit::Graph& graph) {
  std::unordered_map<const void*, at::Tensor> aliases;  // by tensor; constants that are one tensor stay one
  const auto alias = [&](const at::Tensor& tensor) {
    if (!can_be_weight(tensor)) return tensor;
    at::Tensor& made = aliases[tensor.unsafeGetTensorImpl()];
    if (!made.defined()) made = tensor.detach();
    return made;
  };
  each_node<Forks::enter>(graph.block(), [&](torch::jit::Node* node) {
    if (node->kind() != c10::prim::Constant || !node->hasAttribute(c10::attr::value)) return;
    if (node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t) {
      node->t_(c10::attr::value, alias(node->t(c10::attr::value)));
    } else if (node->kindOf(c10::attr::value) == torch::jit::AttributeKind::ival) {
      const c10::IValue& value = node->ival(c10::attr::value);
      bool holds_tensor = false;
      each_tensor(value, [&](const at::Tensor&) { holds_tensor = true; });
      if (holds_tensor) node->ival_(c10::attr::value, with_tensors(value, alias));
    }
  });
}

}  // namespace sr::detail
