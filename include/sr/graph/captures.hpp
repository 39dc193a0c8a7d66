// What blocks read from outside.
#pragma once

#include <unordered_set>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

namespace sr {

// Values that the blocks read and that are defined outside of them.
template <class Blocks>
std::vector<const torch::jit::Value*> captures_of(const Blocks& blocks) {
  std::vector<const torch::jit::Value*> captured;
  std::unordered_set<const torch::jit::Value*> seen;
  const auto visit = [&](const auto& self, const torch::jit::Block* block) -> void {
    for (const torch::jit::Value* input : block->inputs()) seen.insert(input);
    const auto use = [&](const torch::jit::Value* value) {
      if (seen.insert(value).second) captured.push_back(value);
    };
    for (const torch::jit::Node* inner : block->nodes()) {
      for (const torch::jit::Value* input : inner->inputs()) use(input);
      for (const torch::jit::Block* nested : inner->blocks()) self(self, nested);
      for (const torch::jit::Value* output : inner->outputs()) seen.insert(output);
    }
    for (const torch::jit::Value* output : block->outputs()) use(output);
  };
  for (const torch::jit::Block* block : blocks) visit(visit, block);
  return captured;
}

}  // namespace sr
