// Hides values from LibTorch's passes by branches on an unknown condition: while passes run, the value may be
// another one.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace sr {

namespace detail {

class OpaqueBranches {
 public:
  explicit OpaqueBranches(torch::jit::Graph& graph) : graph_(&graph) {}

  // `value` or `other`, by the unknown condition; usable from that node on.
  torch::jit::Value* either(torch::jit::Value* value, torch::jit::Value* other, torch::jit::Node* before) {
    torch::jit::Node* branch = make(1)->insertBefore(before);
    branch->blocks()[0]->registerOutput(value);
    branch->blocks()[1]->registerOutput(other);
    branch->output()->setType(value->type());
    return branch->output();
  }

  // `value`, or anything of its type.
  torch::jit::Value* hidden(torch::jit::Value* value, torch::jit::Node* before) {
    return either(value, add_input(value->type()), before);
  }

  // Makes `value` count as observed after that node, as if it were printed.
  void observe(torch::jit::Value* value, torch::jit::Node* after) {
    torch::jit::Node* branch = make(0)->insertAfter(after);
    branch->blocks()[0]->appendNode(graph_->create(c10::prim::Print, {value}, 0));
  }

  // Removes the branches from that graph or one made of it, and keeps the first of the two values. The added
  // inputs must still be the graph's last ones.
  void remove(torch::jit::Graph& graph) const {
    if (condition_ == nullptr) return;
    const std::size_t first = graph.inputs().size() - added_;
    torch::jit::Value* condition = graph.inputs()[first + condition_at_];
    while (condition->hasUses()) {
      torch::jit::Node* branch = condition->uses()[0].user;
      torch::jit::Block* made = branch->blocks().at(0);
      while (!branch->outputs().empty() && made->nodes().begin() != made->nodes().end())
        made->nodes().front()->moveBefore(branch);
      for (std::size_t i = 0; i < branch->outputs().size(); ++i)
        branch->output(i)->replaceAllUsesWith(made->outputs()[i]);
      branch->destroy();
    }
    for (std::size_t i = graph.inputs().size(); i-- > first;) graph.eraseInput(i);
  }

 private:
  torch::jit::Node* make(std::size_t outputs) {
    if (condition_ == nullptr) condition_ = add_input(c10::BoolType::get());
    torch::jit::Node* branch = graph_->create(c10::prim::If, {condition_}, outputs);
    branch->addBlock();
    branch->addBlock();
    return branch;
  }

  torch::jit::Value* add_input(const c10::TypePtr& type) {
    if (condition_ == nullptr) condition_at_ = added_;
    ++added_;
    return graph_->addInput()->setType(type);
  }

  torch::jit::Graph* graph_;
  torch::jit::Value* condition_ = nullptr;
  std::size_t added_ = 0, condition_at_ = 0;
};

}  // namespace detail

}  // namespace sr
