// True if LibTorch's alias analysis can handle a graph.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>

namespace sr::passes {

// It fails for an operator without a schema, for which sr may have a functor.
inline bool all_operators_are_known(const torch::jit::Block* block) {
  return !detail::any_node(block, [](const torch::jit::Node* node) {
    return !node->kind().is_prim() && node->maybeSchema() == nullptr;
  });
}

}  // namespace sr::passes
