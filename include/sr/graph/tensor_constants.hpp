// Visits the constants of a graph that are tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>

namespace sr::detail {

// Calls visit(tensor) for the constants of a block, of the blocks in it and of the bodies of forks.
template <class Visit>
void each_tensor_constant(torch::jit::Block* block, const Visit& visit) {
  each_node<Forks::enter>(block, [&](const torch::jit::Node* node) {
    if (node->kind() == c10::prim::Constant && node->hasAttribute(c10::attr::value) &&
        node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t) {
      visit(node->t(c10::attr::value));
    }
  });
}

}  // namespace sr::detail
