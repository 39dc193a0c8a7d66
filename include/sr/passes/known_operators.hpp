// Whether LibTorch's alias analysis can handle a graph.
#pragma once

#include <algorithm>

#include <torch/csrc/jit/ir/ir.h>

namespace sr::passes {

// It fails for an operator without a schema, for which sr may have a functor.
inline bool all_operators_are_known(const torch::jit::Block* block) {
  return std::all_of(block->nodes().begin(), block->nodes().end(), [](const torch::jit::Node* node) {
    if (!node->kind().is_prim() && node->maybeSchema() == nullptr) return false;
    return std::all_of(node->blocks().begin(), node->blocks().end(), &all_operators_are_known);
  });
}

}  // namespace sr::passes
