// Lifetime analysis: computes the tables of every block from the selected nodes and the aliases.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/alias.hpp>
#include <sr/graph/block_info.hpp>
#include <sr/graph/slot_table.hpp>

namespace sr {

class BlockAnalysis {
 public:
  BlockAnalysis(const torch::jit::Graph& graph, const SlotTable& slots, const AliasAnalysis& aliases)
      : slots_(slots),
        aliases_(aliases),
        definition_(slots.count),
        last_read_(slots.count, 0),
        last_alias_read_(slots.count, 0) {
    index(graph.block());
    read(graph.block());
  }

  // Fills in all of `info` but the nodes' functions. `nodes` are the nodes of the block without constants.
  void fill(const torch::jit::Block* block, BlockInfo& info, bool is_top, bool recycle_outputs) const {
    for (const torch::jit::Value* input : block->inputs()) {
      if (const Slot slot = slots_.of.at(input); !slots_.is_constant(slot)) info.inputs.push_back(slot);
    }
    fill_outputs(block, info);
    std::unordered_set<Slot> returned;
    for (const BlockOutput& output : info.outputs) returned.insert(output.slot);
    std::unordered_map<Slot, std::uint32_t> managed_index;
    for (const Slot input : info.inputs) place_unmanaged(input, returned, info);
    for (memory::StepIndex step = 0; step < info.nodes.size(); ++step) {
      const ProcessedNode& node = info.nodes[step];
      for (std::uint32_t i = 0; i < node.output_count; ++i) {
        const Slot slot = node.first_output + i;
        const bool made_here = node.kind == NodeKind::out_variant;
        if (made_here && aliases_.reason(slot).empty()) {
          managed_index.emplace(slot, static_cast<std::uint32_t>(info.managed.size()));
          ManagedValue value{slot, step, std::max(last_alias_read_[slot], step + 1)};
          if (i == 0) value.reuses = reusable_input(node, value, managed_index, info);
          info.managed.push_back(value);
        } else if (made_here && is_top && recycle_outputs &&
                   aliases_.reason(slot) == AliasAnalysis::kReturned) {
          info.recycled.push_back(slot);
          for (BlockOutput& output : info.outputs) output.moves &= output.slot != slot;
        } else if (returned.count(slot) != 0 || !is_kept(*node.node)) {
          place_unmanaged(slot, returned, info);
        }
      }
    }
  }

 private:
  struct Definition {
    const torch::jit::Block* block = nullptr;
    bool has_step = false;
    memory::StepIndex step = 0;
  };

  void index(const torch::jit::Block* block) {
    for (const torch::jit::Value* input : block->inputs())
      definition_[slots_.of.at(input)] = {block, false, 0};
    memory::StepIndex step = 0;
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Constant) continue;
      step_of_.emplace(node, step);
      for (const torch::jit::Value* output : node->outputs()) {
        definition_[slots_.of.at(output)] = {block, true, step};
      }
      for (const torch::jit::Block* inner : node->blocks()) index(inner);
      ++step;
    }
  }

  // A read counts for the value itself and for each value whose bytes it may share. A read inside a sub-block
  // counts at the node that owns the sub-block.
  void read(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Constant) continue;
      for (const torch::jit::Value* input : node->inputs()) read(input, node);
      for (const torch::jit::Block* inner : node->blocks()) {
        read(inner);
        for (const torch::jit::Value* output : inner->outputs()) read(output, node);
      }
    }
  }

  void read(const torch::jit::Value* value, const torch::jit::Node* reader) {
    const Slot slot = slots_.of.at(value);
    if (slots_.is_constant(slot)) return;
    extend(last_read_, slot, reader);
    for (const Slot origin : aliases_.origins(slot)) extend(last_alias_read_, origin, reader);
  }

  void extend(std::vector<memory::StepIndex>& ends, Slot slot, const torch::jit::Node* reader) const {
    const torch::jit::Block* home = definition_[slot].block;
    while (reader != nullptr && reader->owningBlock() != home) reader = reader->owningBlock()->owningNode();
    if (reader != nullptr) ends[slot] = std::max(ends[slot], step_of_.at(reader) + 1);
  }

  void fill_outputs(const torch::jit::Block* block, BlockInfo& info) const {
    std::unordered_map<Slot, int> times;
    for (const torch::jit::Value* output : block->outputs()) ++times[slots_.of.at(output)];
    for (const torch::jit::Value* output : block->outputs()) {
      const Slot slot = slots_.of.at(output);
      const bool made_here = !slots_.is_constant(slot) && definition_[slot].block == block;
      info.outputs.push_back({slot, made_here && times[slot] == 1});
    }
  }

  // True if a list of numbers is read by operators only (sizes for a view): then it stays in its slot, and
  // the next run fills it again.
  static bool is_kept(const torch::jit::Node& node) {
    if (node.kind() != c10::prim::ListConstruct || detail::may_hold_tensor(node.output()->type()))
      return false;
    const auto& uses = node.output()->uses();
    return std::all_of(uses.begin(), uses.end(), [](const torch::jit::Use& use) {
      const c10::FunctionSchema* schema = use.user->maybeSchema();
      return schema != nullptr && !use.user->kind().is_prim() && !schema->is_mutable();
    });
  }

  // Notes where the slot is cleared: after its last reader, or at the end of the block.
  void place_unmanaged(Slot slot, const std::unordered_set<Slot>& returned, BlockInfo& info) const {
    const Definition& definition = definition_[slot];
    memory::StepIndex end = last_read_[slot];
    if (end == 0 && definition.has_step) end = definition.step + 1;  // never read
    if (returned.count(slot) != 0 || end == 0) {
      info.cleared.push_back(slot);
    } else {
      info.nodes[end - 1].dying.push_back(slot);
    }
  }

  std::uint32_t reusable_input(const ProcessedNode& node, const ManagedValue& output,
                               const std::unordered_map<Slot, std::uint32_t>& managed_index,
                               const BlockInfo& info) const {
    if (node.traits.writes_in_place < 0) return memory::kNoRequest;
    const Slot candidate = node.inputs[static_cast<std::size_t>(node.traits.writes_in_place)];
    const auto position = managed_index.find(candidate);
    if (position == managed_index.end()) return memory::kNoRequest;
    if (info.managed[position->second].end != output.first + 1) return memory::kNoRequest;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i == static_cast<std::size_t>(node.traits.writes_in_place)) continue;
      const auto& origins = aliases_.origins(node.inputs[i]);
      if (std::find(origins.begin(), origins.end(), candidate) != origins.end()) return memory::kNoRequest;
    }
    return position->second;
  }

  const SlotTable& slots_;
  const AliasAnalysis& aliases_;
  std::vector<Definition> definition_;
  std::vector<memory::StepIndex> last_read_;  // half-open end of the slot's own reads, 0: never
  std::vector<memory::StepIndex>
      last_alias_read_;  // the same for reads through any alias, for out-variant outputs
  std::unordered_map<const torch::jit::Node*, memory::StepIndex> step_of_;
};

}  // namespace sr
