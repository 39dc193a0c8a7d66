// LibTorch's alias analysis overlooks that a loop without iterations returns its inputs, and its passes may
// then merge two values that must stay apart. This barrier makes each value that an iteration passes on
// possibly equal to the one that it was given.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/passes/barriers/attribute_values.hpp>
#include <sr/passes/barriers/opaque_branches.hpp>

namespace sr {

namespace detail {

class LoopAliasBarrier {
 public:
  LoopAliasBarrier(torch::jit::Graph& graph, const AttributeValues& value_of, OpaqueBranches& branches)
      : value_of_(&value_of), branches_(&branches) {
    visit(graph.block());
  }

 private:
  void visit(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      for (torch::jit::Block* inner : node->blocks()) visit(inner);
      if (node->kind() == c10::prim::Loop && !surely_iterates(*node)) hide_results(*node);
    }
  }

  // The inputs of a loop: the largest number of iterations, the first condition, then carried values.
  bool surely_iterates(const torch::jit::Node& loop) const {
    const auto most = (*value_of_)(loop.input(0)), begins = (*value_of_)(loop.input(1));
    return most && most->isInt() && most->toInt() > 0 && begins && begins->isBool() && begins->toBool();
  }

  void hide_results(torch::jit::Node& loop) {
    torch::jit::Block* body = loop.blocks().at(0);
    for (std::size_t i = 1; i < body->outputs().size(); ++i) {
      torch::jit::Value* made = body->outputs()[i];
      if (made == body->inputs()[i] || !may_hold_tensor(made->type())) continue;
      body->replaceOutput(i, branches_->either(made, body->inputs()[i], body->return_node()));
    }
  }

  const AttributeValues* value_of_;
  OpaqueBranches* branches_;
};

}  // namespace detail

}  // namespace sr
