// Visits every node of a block, those in nested blocks included.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace sr::detail {

// True if a walk enters the bodies of forks, which are separate graphs.
enum class Forks { skip, enter };

// True if test(node) holds for any node. A node comes before those in its blocks; the first match ends the
// walk.
template <Forks forks = Forks::skip, class Block, class Test>
bool any_node(Block* block, const Test& test) {
  for (auto* node : block->nodes()) {
    if (test(node)) return true;
    for (auto* inner : node->blocks()) {
      if (any_node<forks>(inner, test)) return true;
    }
    if constexpr (forks == Forks::enter) {
      if (node->hasAttribute(c10::attr::Subgraph) &&
          any_node<forks>(static_cast<Block*>(node->g(c10::attr::Subgraph)->block()), test)) {
        return true;
      }
    }
  }
  return false;
}

// True if the node lies in the block, or in a block within it.
inline bool is_inside(const torch::jit::Node* node, const torch::jit::Block* block) {
  for (; node != nullptr; node = node->owningBlock()->owningNode()) {
    if (node->owningBlock() == block) return true;
  }
  return false;
}

// Calls visit(node), which may not remove nodes.
template <Forks forks = Forks::skip, class Block, class Visit>
void each_node(Block* block, const Visit& visit) {
  any_node<forks>(block, [&](auto* node) {
    visit(node);
    return false;
  });
}

}  // namespace sr::detail
