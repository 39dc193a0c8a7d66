// Prepares the bodies of forks for freezing.
#pragma once

#include <algorithm>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <sr/graph/each_node.hpp>

namespace sr::detail {

// Inlines the calls in the bodies of forks.
inline void inline_forks(torch::jit::Block* block) {
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) inline_forks(inner);
    if (node->kind() != c10::prim::fork) continue;
    torch::jit::Inline(*node->g(c10::attr::Subgraph));
    inline_forks(node->g(c10::attr::Subgraph)->block());
  }
}

// True if freezing would crash: it removes unused inputs and modules from a fork, and then reads the first
// remaining input even if there is none (LibTorch 2.13). The bodies must be inlined.
inline bool has_fork_without_inputs(const torch::jit::Block* block) {
  const auto is_left = [](const torch::jit::Value* input) {
    return input->hasUses() && !input->type()->is_module();
  };
  return any_node<Forks::enter>(block, [&](const torch::jit::Node* node) {
    return node->kind() == c10::prim::fork &&
           std::ranges::none_of(node->g(c10::attr::Subgraph)->inputs(), is_left);
  });
}

// True if the block calls a method that was not inlined, also in nested blocks and in forks.
inline bool calls_methods(const torch::jit::Block* block) {
  return any_node<Forks::enter>(
      block, [](const torch::jit::Node* node) { return node->kind() == c10::prim::CallMethod; });
}

// Freezing removes methods that only bodies of forks call (LibTorch 2.13).
inline bool has_fork_that_calls_methods(const torch::jit::Block* block) {
  return any_node(block, [](const torch::jit::Node* node) {
    return node->kind() == c10::prim::fork && calls_methods(node->g(c10::attr::Subgraph)->block());
  });
}

}  // namespace sr::detail
