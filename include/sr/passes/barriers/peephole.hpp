// Holds back rewrites of LibTorch's optimiser, which freezing runs:
// - `x * 1`, `x / 1`, `x + 0` and `x - 0` to `x`: wrong for integers and bools, and where the result is
// returned or
//   written to;
// - a cat of a cat to one cat: wrong where an operand is written between them or would first be converted to
// a
//   narrower dtype, and in the messages of errors;
// - `x.detach()` to `x` where that can be observed.
// While it runs, the numbers come from inputs added to the graph, and detach has another name.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/passes/barriers/attribute_values.hpp>
#include <sr/passes/barriers/returned.hpp>
#include <sr/passes/pipeline.hpp>

namespace sr {

namespace detail {

class PeepholeBarrier {
 public:
  // Adds the barrier to the graph.
  PeepholeBarrier(torch::jit::Graph& graph, const AttributeValues& value_of, const Returned& returned)
      : graph_(&graph),
        value_of_(&value_of),
        returned_(&returned),
        writes_(passes::detail::writes(graph.block())) {
    hide(graph.block());
  }

  // Removes the barrier from that graph or from a copy of it.
  void show(torch::jit::Graph& graph) const {
    const torch::jit::WithInsertPoint at_start(*graph.block()->nodes().begin());
    for (std::size_t i = values_.size(); i-- > 0;) {
      const std::size_t last = graph.inputs().size() - 1;
      graph.inputs()[last]->replaceAllUsesWith(graph.insertConstant(values_[i]));
      graph.eraseInput(last);
    }
    show_detach(graph.block());
  }

 private:
  void hide(torch::jit::Block* block) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      torch::jit::Node* node = *position++;
      for (torch::jit::Block* inner : node->blocks()) hide(inner);
      if (node->kind() == c10::aten::detach) {
        if (writes_ || returned_->contains(node->output())) rename(node, c10::aten::alias);
      } else if (node->kind() == c10::aten::cat) {
        if (const auto dim = (*value_of_)(node->input(1)); dim && dim->isInt()) hide_input(node, *dim);
      } else {
        hide_number(node);
      }
    }
  }

  void hide_number(torch::jit::Node* node) {
    const bool adds = node->kind() == c10::aten::add || node->kind() == c10::aten::sub;
    const bool multiplies = node->kind() == c10::aten::mul || node->kind() == c10::aten::div;
    if ((!adds && !multiplies) || node->inputs().size() < 2) return;
    if (node->input(0)->type()->kind() != c10::TypeKind::TensorType) return;
    const std::optional<c10::IValue> number = (*value_of_)(node->input(1));
    if (!number || !number->isScalar() || number->toScalar().isComplex()) return;
    if (number->toScalar().toDouble() == (adds ? 0 : 1)) hide_input(node, *number);
  }

  // Equal numbers share an input, so that equal nodes are seen to be equal.
  void hide_input(torch::jit::Node* node, const c10::IValue& number) {
    const auto same = std::find_if(values_.begin(), values_.end(), [&](const c10::IValue& value) {
      return value.tagKind() == number.tagKind() && value == number &&
             is_negative(value) == is_negative(number);
    });
    if (same == values_.end()) {
      inputs_.push_back(graph_->addInput()->setType(node->input(1)->type()));
      values_.push_back(number);
      node->replaceInput(1, inputs_.back());
    } else {
      node->replaceInput(1, inputs_[static_cast<std::size_t>(same - values_.begin())]);
    }
  }

  // Tells 0.0 and -0.0 apart.
  static bool is_negative(const c10::IValue& number) {
    return number.isDouble() && std::signbit(number.toDouble());
  }

  static void rename(torch::jit::Node* node, c10::Symbol kind) {
    torch::jit::Node* renamed = node->replaceWithNewSymbol(kind);
    renamed->output()->setType(node->output()->type());
    node->destroy();
  }

  static void show_detach(torch::jit::Block* block) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      torch::jit::Node* node = *position++;
      for (torch::jit::Block* inner : node->blocks()) show_detach(inner);
      if (node->kind() == c10::aten::alias) rename(node, c10::aten::detach);
    }
  }

  torch::jit::Graph* graph_;
  const AttributeValues* value_of_;
  const Returned* returned_;
  bool writes_;
  std::vector<torch::jit::Value*> inputs_;  // added, in the order of values_
  std::vector<c10::IValue> values_;
};

}  // namespace detail

}  // namespace sr
