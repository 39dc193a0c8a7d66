// LibTorch's alias analysis forgets that a loop of no iterations hands on what it was given, and its passes
// then take two equal results for one. While they run, what an iteration hands on may by a condition they can
// not know be what it was given.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <sr/alias_rules.hpp>
#include <sr/attribute_values.hpp>

namespace sr {

namespace detail {

class LoopGuards {
 public:
  // Adds the condition to the inputs of the graph if there is a loop to guard.
  LoopGuards(torch::jit::Graph& graph, const AttributeValues& value_of)
      : graph_(&graph), value_of_(&value_of) {
    guard(graph.block());
  }

  // From that graph or one made of it, whose last input is the condition.
  void remove(torch::jit::Graph& graph) const {
    if (condition_ == nullptr) return;
    const std::size_t last = graph.inputs().size() - 1;
    while (graph.inputs()[last]->hasUses()) {
      torch::jit::Node* branch = graph.inputs()[last]->uses()[0].user;
      torch::jit::Block* made = branch->blocks().at(0);
      while (made->nodes().begin() != made->nodes().end()) made->nodes().front()->moveBefore(branch);
      for (std::size_t i = 0; i < branch->outputs().size(); ++i)
        branch->output(i)->replaceAllUsesWith(made->outputs()[i]);
      branch->destroy();
    }
    graph.eraseInput(last);
  }

 private:
  void guard(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      for (torch::jit::Block* inner : node->blocks()) guard(inner);
      if (node->kind() == c10::prim::Loop && !surely_iterates(*node)) guard_loop(*node);
    }
  }

  // Inputs of a loop: the most iterations, whether to begin, then carried values.
  bool surely_iterates(const torch::jit::Node& loop) const {
    const auto most = (*value_of_)(loop.input(0)), begins = (*value_of_)(loop.input(1));
    return most && most->isInt() && most->toInt() > 0 && begins && begins->isBool() && begins->toBool();
  }

  void guard_loop(torch::jit::Node& loop) {
    torch::jit::Block* body = loop.blocks().at(0);
    for (std::size_t i = 1; i < body->outputs().size(); ++i) {
      torch::jit::Value* made = body->outputs()[i];
      if (made == body->inputs()[i] || !may_hold_tensor(made->type())) continue;
      if (condition_ == nullptr) condition_ = graph_->addInput()->setType(c10::BoolType::get());
      torch::jit::Node* branch = graph_->create(c10::prim::If, {condition_}, 1);
      branch->insertBefore(body->return_node());
      branch->addBlock()->registerOutput(made);
      branch->addBlock()->registerOutput(body->inputs()[i]);
      branch->output()->setType(made->type());
      body->replaceOutput(i, branch->output());
    }
  }

  torch::jit::Graph* graph_;
  const AttributeValues* value_of_;
  torch::jit::Value* condition_ = nullptr;
};

}  // namespace detail

}  // namespace sr
