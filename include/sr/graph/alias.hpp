// Alias analysis: which values may share memory with the output of an out variant, and which outputs escape.
// May-alias facts only ever lengthen lifetimes; they never let two values share bytes.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include <c10/util/SmallVector.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/slot_table.hpp>

namespace sr {

struct SelectedKind {
  NodeKind kind = NodeKind::fallback;
  bool makes_new_tensor = false;
};
using KindOf = std::unordered_map<const torch::jit::Node*, SelectedKind>;

class AliasAnalysis {
 public:
  using Origins = c10::SmallVector<Slot, 1>;  // sorted

  AliasAnalysis(const torch::jit::Graph& graph, const SlotTable& slots, const KindOf& kinds)
      : slots_(slots), kinds_(kinds), origins_(slots.count), reasons_(slots.count) {
    // Constants are origins, too: the analysis finds which of them the caller may be given.
    for (Slot slot = 0; slot < slots.constants.size(); ++slot) {
      if (!slots.constants[slot].isModule() && slots.constants[slot].isPtrType()) origins_[slot] = {slot};
    }
    visit(graph.block());
    for (const torch::jit::Value* output : graph.outputs()) escape(output, kReturned);
  }

  // Slots of the out-variant outputs and constants whose bytes this value may share, including itself if it
  // is one.
  const Origins& origins(Slot slot) const { return origins_[slot]; }
  // Why the value may not live in the arena; empty if it may.
  const std::string& reason(Slot slot) const { return reasons_[slot]; }

  static constexpr std::string_view kReturned = "returned to the caller";

 private:
  Slot slot(const torch::jit::Value* value) const { return slots_.of.at(value); }

  bool merge(Slot target, const Origins& from) {
    Origins& into = origins_[target];
    const std::size_t before = into.size();
    for (const Slot origin : from) {
      const auto position = std::lower_bound(into.begin(), into.end(), origin);
      if (position == into.end() || *position != origin) into.insert(position, origin);
    }
    return into.size() != before;
  }

  void escape(const torch::jit::Value* value, std::string_view reason) {
    for (const Slot origin : origins_[slot(value)]) {
      if (reasons_[origin].empty()) reasons_[origin] = reason;
    }
  }

  void visit(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) visit(node);
  }

  void visit(const torch::jit::Node* node) {
    const c10::Symbol kind = node->kind();
    if (kind == c10::prim::Constant) return;
    if (kind == c10::prim::If) return visit_if(node);
    if (kind == c10::prim::Loop) return visit_loop(node);
    if (kinds_.at(node).makes_new_tensor) return;
    if (kinds_.at(node).kind == NodeKind::out_variant) {
      for (const torch::jit::Value* output : node->outputs()) origins_[slot(output)] = {slot(output)};
      return;
    }
    const torch::jit::Operator* op = node->maybeOperator();
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (!node->blocks().empty() || kind == c10::prim::fork || kind == c10::prim::SetAttr ||
        kind == c10::prim::CallMethod || kind == c10::prim::CallFunction ||
        (op != nullptr && op->aliasAnalysisKind() == c10::AliasAnalysisKind::CONSERVATIVE)) {
      return lose_inputs(
          node, std::string("read by ") + kind.toQualString() + ", which says nothing about aliases");
    }
    if (has_fact(kind, Fact::takes_storage))
      return lose_inputs(node, std::string("given to another tensor by ") + kind.toQualString());
    const auto handle = detail::dispatched(*node);
    if (!handle) return visit_interpreter_op(node, schema);
    pass_through(node, [&](std::size_t i) { return detail::may_return_input(*schema, *handle, i); });
  }

  // For prim:: nodes and the interpreter's own list, dict and tuple ops: results may be, or contain, any
  // input.
  void visit_interpreter_op(const torch::jit::Node* node, const c10::FunctionSchema* schema) {
    if (schema != nullptr && schema->is_mutable()) {
      return lose_inputs(node,
                         std::string("kept in a container that ") + node->kind().toQualString() + " changes");
    }
    pass_through(node, [](std::size_t) { return true; });
  }

  template <class Aliases>
  void pass_through(const torch::jit::Node* node, Aliases aliases) {
    Origins all;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (!aliases(i) || !detail::may_hold_tensor(node->input(i)->type())) continue;
      const Origins& from = origins_[slot(node->input(i))];
      all.append(from.begin(), from.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const torch::jit::Value* output : node->outputs()) {
      if (detail::may_hold_tensor(output->type())) merge(slot(output), all);
    }
  }

  void lose_inputs(const torch::jit::Node* node, const std::string& reason) {
    for (const torch::jit::Value* input : node->inputs()) escape(input, reason);
    for (const torch::jit::Block* block : node->blocks()) lose_captures(block, reason);
    pass_through(node, [](std::size_t) { return true; });
  }

  void lose_captures(const torch::jit::Block* block, const std::string& reason) {
    for (const torch::jit::Node* node : block->nodes()) {
      for (const torch::jit::Value* input : node->inputs()) {
        if (slots_.of.count(input) != 0) escape(input, reason);
      }
      for (const torch::jit::Block* inner : node->blocks()) lose_captures(inner, reason);
    }
  }

  void visit_if(const torch::jit::Node* node) {
    for (const torch::jit::Block* block : node->blocks()) {
      visit(block);
      for (std::size_t i = 0; i < node->outputs().size(); ++i) {
        merge(slot(node->output(i)), origins_[slot(block->outputs()[i])]);
      }
      leave(block);
    }
  }

  // Inputs of the loop's block: trip count, then carried values; its outputs: the condition, then carried
  // values.
  void visit_loop(const torch::jit::Node* node) {
    const torch::jit::Block* block = node->blocks().at(0);
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t i = 0; i < node->outputs().size(); ++i) {
        const Slot carried = slot(block->inputs()[i + 1]);
        changed |= merge(carried, Origins(origins_[slot(node->input(i + 2))]));
        changed |= merge(carried, Origins(origins_[slot(block->outputs()[i + 1])]));
      }
      visit(block);
      for (std::size_t i = 0; i < node->outputs().size(); ++i) {
        changed |= merge(slot(node->output(i)), Origins(origins_[slot(block->inputs()[i + 1])]));
        changed |= merge(slot(node->output(i)), Origins(origins_[slot(block->outputs()[i + 1])]));
      }
    }
    leave(block);
  }

  // The outputs of a block outlive the block's memory. Values of outer blocks are not affected.
  void leave(const torch::jit::Block* block) {
    const auto [first, last] = slots_.ranges.at(block);
    for (const torch::jit::Value* output : block->outputs()) {
      for (const Slot origin : origins_[slot(output)]) {
        if (origin >= first && origin < last && reasons_[origin].empty()) {
          reasons_[origin] = "handed out of a sub-block";
        }
      }
    }
  }

  const SlotTable& slots_;
  const KindOf& kinds_;
  std::vector<Origins> origins_;
  std::vector<std::string> reasons_;
};

}  // namespace sr
