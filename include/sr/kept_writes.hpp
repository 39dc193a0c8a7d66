// LibTorch's elimination of dead code does not see that what is in a container is read with it, and drops
// writes to a tensor that was put into one before. While its passes run, every write is read by something
// that has an effect.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <sr/unknown_branches.hpp>

namespace sr {

namespace detail {

class KeptWrites {
 public:
  KeptWrites(torch::jit::Graph& graph, UnknownBranches& branches) : branches_(&branches) {
    if (makes_container(graph.block())) keep(graph.block());
  }

 private:
  static bool makes_container(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::DictConstruct ||
          node->kind() == c10::prim::TupleConstruct) {
        for (const torch::jit::Value* input : node->inputs()) {
          if (input->type()->kind() == c10::TypeKind::TensorType) return true;
        }
      }
      for (torch::jit::Block* inner : node->blocks()) {
        if (makes_container(inner)) return true;
      }
    }
    return false;
  }

  void keep(torch::jit::Block* block) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      torch::jit::Node* node = *position++;
      for (torch::jit::Block* inner : node->blocks()) keep(inner);
      const c10::FunctionSchema* schema = node->maybeSchema();
      if (schema == nullptr || !schema->is_mutable()) continue;
      for (std::size_t i = 0; i < schema->arguments().size() && i < node->inputs().size(); ++i) {
        const c10::AliasInfo* alias = schema->arguments()[i].alias_info();
        if (alias != nullptr && alias->isWrite() &&
            node->input(i)->type()->kind() == c10::TypeKind::TensorType) {
          branches_->observe(node->input(i), node);
        }
      }
    }
  }

  UnknownBranches* branches_;
};

}  // namespace detail

}  // namespace sr
