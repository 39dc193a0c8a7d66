// The layout of a runtime's table of values: [constants | graph inputs | outputs and block inputs, depth
// first].
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/error.hpp>
#include <sr/graph/processed_node.hpp>

namespace sr {

struct SlotTable {
  std::unordered_map<const torch::jit::Value*, Slot> of;
  // The half-open range of slots of a block and of the blocks inside it. Only sub-blocks have an entry.
  std::unordered_map<const torch::jit::Block*, std::pair<Slot, Slot>> ranges;
  std::vector<c10::IValue> constants;
  Slot count = 0;

  // `self` is the module that the graph's first input stands for, or None if the graph has no such input.
  SlotTable(const torch::jit::Graph& graph, const c10::IValue& self) {
    if (!self.isNone()) {
      of.emplace(graph.inputs()[0], Slot{0});
      constants.push_back(self);
    }
    add_constants(graph.block());
    count = static_cast<Slot>(constants.size());
    for (const torch::jit::Value* input : graph.inputs()) {
      if (of.count(input) == 0) of.emplace(input, count++);
    }
    add_values(graph.block());
  }

  bool is_constant(Slot slot) const { return slot < constants.size(); }

 private:
  void add_constants(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Constant) {
        std::optional<c10::IValue> value = torch::jit::toIValue(node->output());
        if (!value) {
          throw UnsupportedOpError("The constant %" + node->output()->debugName() + " of type " +
                                   node->output()->type()->str() + " has no value outside the interpreter.");
        }
        of.emplace(node->output(), static_cast<Slot>(constants.size()));
        constants.push_back(std::move(*value));
      }
      for (const torch::jit::Block* inner : node->blocks()) add_constants(inner);
    }
  }

  void add_values(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Constant) continue;
      for (const torch::jit::Value* output : node->outputs()) of.emplace(output, count++);
      for (const torch::jit::Block* inner : node->blocks()) {
        const Slot first = count;
        for (const torch::jit::Value* input : inner->inputs()) of.emplace(input, count++);
        add_values(inner);
        ranges.emplace(inner, std::pair(first, count));
      }
    }
  }
};

}  // namespace sr
