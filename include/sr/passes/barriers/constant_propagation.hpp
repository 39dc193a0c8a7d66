// Holds back constant propagation for values that the caller may be given. LibTorch would pool a folded
// constant with an equal one, so that two results, or a result and a weight, would be one tensor where the
// interpreter has two.
#pragma once

#include <algorithm>
#include <unordered_set>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/passes/barriers/attribute_values.hpp>
#include <sr/passes/barriers/opaque_branches.hpp>
#include <sr/passes/barriers/returned.hpp>

namespace sr {

namespace detail {

// Hides an input of each node that computes such a value from constants only.
class ConstantPropagationBarrier {
 public:
  ConstantPropagationBarrier(torch::jit::Graph& graph, const AttributeValues& value_of,
                             const Returned& returned, OpaqueBranches& branches)
      : value_of_(&value_of), returned_(&returned), branches_(&branches) {
    visit(graph.block());
  }

 private:
  void visit(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      if (node->blocks().empty()) {
        visit(node);
      } else {
        visit_control_flow(node);
      }
    }
  }

  void visit(torch::jit::Node* node) {
    const auto inputs = node->inputs();
    if (node->kind() == c10::prim::GetAttr ||
        !std::all_of(inputs.begin(), inputs.end(), [&](const auto* input) { return is_foldable(input); })) {
      return;
    }
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema != nullptr && schema->is_mutable()) return;
    const auto outputs = node->outputs();
    if (makes_tensor(node) && !inputs.empty() &&
        std::any_of(outputs.begin(), outputs.end(),
                    [&](const auto* output) { return returned_->contains(output); })) {
      node->replaceInput(0, branches_->hidden(node->input(0), node));
    } else {
      foldable_.insert(outputs.begin(), outputs.end());
    }
  }

  // Results of branches and iterations count as foldable unless that is impossible.
  void visit_control_flow(torch::jit::Node* node) {
    const bool loops = node->kind() == c10::prim::Loop;
    for (std::size_t i = 2; loops && i < node->inputs().size(); ++i) {
      if (is_foldable(node->input(i))) foldable_.insert(node->blocks()[0]->inputs()[i - 1]);
    }
    for (torch::jit::Block* inner : node->blocks()) visit(inner);
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      const std::size_t from = loops ? i + 1 : i;
      for (torch::jit::Block* inner : node->blocks()) {
        if (from < inner->outputs().size() && is_foldable(inner->outputs()[from]))
          foldable_.insert(node->output(i));
      }
    }
  }

  // The elements of containers are hidden already.
  static bool makes_tensor(const torch::jit::Node* node) {
    return !node->kind().is_prim() || node->kind() == c10::prim::NumToTensor;
  }

  bool is_foldable(const torch::jit::Value* value) const {
    return foldable_.count(value) != 0 || (*value_of_)(value).has_value();
  }

  const AttributeValues* value_of_;
  const Returned* returned_;
  OpaqueBranches* branches_;
  std::unordered_set<const torch::jit::Value*> foldable_;
};

}  // namespace detail

}  // namespace sr
