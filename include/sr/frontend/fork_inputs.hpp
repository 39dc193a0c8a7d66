// Prepares the bodies of forks for freezing.
#pragma once

#include <algorithm>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

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

// Whether freezing would crash: it removes unused inputs and modules from a fork, and then reads the first
// remaining input even if there is none (LibTorch 2.13). The bodies must be inlined.
inline bool has_fork_without_inputs(torch::jit::Block* block) {
  const auto is_left = [](const torch::jit::Value* input) {
    return input->hasUses() && !input->type()->is_module();
  };
  for (torch::jit::Node* node : block->nodes()) {
    for (torch::jit::Block* inner : node->blocks()) {
      if (has_fork_without_inputs(inner)) return true;
    }
    if (node->kind() != c10::prim::fork) continue;
    torch::jit::Graph& body = *node->g(c10::attr::Subgraph);
    if (std::ranges::none_of(body.inputs(), is_left) || has_fork_without_inputs(body.block())) return true;
  }
  return false;
}

// Whether the block calls a method that was not inlined, also in nested blocks and in forks.
inline bool calls_methods(const torch::jit::Block* block) {
  for (const torch::jit::Node* node : block->nodes()) {
    if (node->kind() == c10::prim::CallMethod) return true;
    for (const torch::jit::Block* inner : node->blocks()) {
      if (calls_methods(inner)) return true;
    }
    if (node->kind() == c10::prim::fork && calls_methods(node->g(c10::attr::Subgraph)->block())) return true;
  }
  return false;
}

// Freezing removes methods that only bodies of forks call (LibTorch 2.13).
inline bool has_fork_that_calls_methods(const torch::jit::Block* block) {
  for (const torch::jit::Node* node : block->nodes()) {
    for (const torch::jit::Block* inner : node->blocks()) {
      if (has_fork_that_calls_methods(inner)) return true;
    }
    if (node->kind() == c10::prim::fork && calls_methods(node->g(c10::attr::Subgraph)->block())) return true;
  }
  return false;
}

}  // namespace sr::detail
