// Keeps LibTorch's optimiser, which freezing runs, from taking `x * 1`, `x / 1`, `x + 0` and `x - 0` for `x`:
// that is wrong for integers and bools, and where the result is returned or written to. While it runs, such
// numbers come from inputs added to the graph.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

namespace sr {

namespace detail {

class NeutralNumbers {
 public:
  // Hides them; `self` is the module the graph's first input stands for.
  NeutralNumbers(torch::jit::Graph& graph, const c10::IValue& self) : graph_(&graph), self_(self) {
    find_written(graph.block());
    hide(graph.block());
  }

  // Shows them again, in that graph or in a copy of it.
  void show(torch::jit::Graph& graph) const {
    const torch::jit::WithInsertPoint at_start(*graph.block()->nodes().begin());
    for (std::size_t i = values_.size(); i-- > 0;) {
      const std::size_t last = graph.inputs().size() - 1;
      graph.inputs()[last]->replaceAllUsesWith(graph.insertConstant(values_[i]));
      graph.eraseInput(last);
    }
  }

 private:
  void find_written(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::SetAttr) written_.insert(node->s(c10::attr::name));
      for (const torch::jit::Block* inner : node->blocks()) find_written(inner);
    }
  }

  void hide(torch::jit::Block* block) {
    for (torch::jit::Node* node : block->nodes()) {
      for (torch::jit::Block* inner : node->blocks()) hide(inner);
      const bool adds = node->kind() == c10::aten::add || node->kind() == c10::aten::sub;
      const bool multiplies = node->kind() == c10::aten::mul || node->kind() == c10::aten::div;
      if ((!adds && !multiplies) || node->inputs().size() < 2) continue;
      if (node->input(0)->type()->kind() != c10::TypeKind::TensorType) continue;
      const std::optional<c10::IValue> number = value_of(node->input(1));
      if (!number || !number->isScalar() || number->toScalar().isComplex()) continue;
      if (number->toScalar().toDouble() == (adds ? 0 : 1))
        node->replaceInput(1, input_for(node->input(1), *number));
    }
  }

  std::optional<c10::IValue> value_of(const torch::jit::Value* value) const {
    if (value == graph_->inputs()[0]) return self_;
    const torch::jit::Node* node = value->node();
    if (node->kind() == c10::prim::Constant) return torch::jit::toIValue(value);
    if (node->kind() != c10::prim::GetAttr || written_.count(node->s(c10::attr::name)) != 0)
      return std::nullopt;
    const std::optional<c10::IValue> object = value_of(node->input());
    if (!object || !object->isObject()) return std::nullopt;
    return object->toObjectRef().getAttr(node->s(c10::attr::name));
  }

  torch::jit::Value* input_for(torch::jit::Value* value, const c10::IValue& number) {
    torch::jit::Value*& input = inputs_[value];
    if (input == nullptr) {
      input = graph_->addInput()->setType(value->type());
      values_.push_back(number);
    }
    return input;
  }

  torch::jit::Graph* graph_;
  c10::IValue self_;
  std::unordered_set<std::string> written_;
  std::unordered_map<const torch::jit::Value*, torch::jit::Value*> inputs_;
  std::vector<c10::IValue> values_;  // by position among the inputs added
};

}  // namespace detail

}  // namespace sr
