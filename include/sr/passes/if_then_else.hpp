// Turns a branch that only chooses between two existing values into one node without blocks.
#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>

namespace sr::passes {

namespace detail {

inline bool only_chooses(const torch::jit::Node* node) {
  return node->kind() == c10::prim::If && node->outputs().size() == 1 &&
         node->blocks().at(0)->nodes().begin() == node->blocks().at(0)->nodes().end() &&
         node->blocks().at(1)->nodes().begin() == node->blocks().at(1)->nodes().end();
}

inline void choose_without_blocks(torch::jit::Block* block) {
  for (auto position = block->nodes().begin(); position != block->nodes().end();) {
    torch::jit::Node* node = *position++;
    for (torch::jit::Block* inner : node->blocks()) choose_without_blocks(inner);
    if (!only_chooses(node)) continue;
    torch::jit::Node* choice = node->owningGraph()->create(c10::prim::IfThenElse, 1);
    choice->addInput(node->input(0));
    choice->addInput(node->blocks().at(0)->outputs().at(0));
    choice->addInput(node->blocks().at(1)->outputs().at(0));
    choice->output()->copyMetadata(node->output());
    choice->insertBefore(node);
    choice->setSourceRange(node->sourceRange());
    node->output()->replaceAllUsesWith(choice->output());
    node->destroy();
  }
}

}  // namespace detail

inline void use_if_then_else(std::shared_ptr<torch::jit::Graph>& graph) {
  detail::choose_without_blocks(graph->block());
}

}  // namespace sr::passes
