// Replays of blocks within replays of calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/block_effects.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/graph/report.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/weight_set.hpp>
#include <sr/replay/runner/replayed_block.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// The blocks of a module. Belongs to one runtime. The module and the planner must outlive it. It must not
// move.
class ReplayedBlocks final : public BlockCalls {
 public:
  ReplayedBlocks(const PreparedModule& content, std::shared_ptr<const WeightSet> weights,
                 const memory::PlannerOps& planner)
      : content_(&content), weights_(std::move(weights)), planner_(&planner) {}
  ReplayedBlocks(const ReplayedBlocks&) = delete;
  ReplayedBlocks& operator=(const ReplayedBlocks&) = delete;

  bool run(Frame& frame, std::uint32_t block) override {
    has_run_ = true;
    auto known = blocks_.find(block);
    if (known == blocks_.end()) known = blocks_.emplace(block, make(block)).first;
    return known->second != nullptr && known->second->run(frame);
  }

  // Must be called when a call that may have run blocks has its results.
  [[gnu::always_inline]] void end_call() {
    if (has_run_) [[unlikely]]
      end_blocks();
  }

  // See Replayer::time_steps.
  void time_steps(bool on, bool forgets) {
    times_steps_ = on;
    for (const auto& [index, block] : blocks_) {
      if (block != nullptr) block->time_steps(on, forgets);
    }
  }

  // Drops all programs, which hold values and addresses of the old weights.
  void take(const std::shared_ptr<const WeightSet>& weights) {
    weights_ = weights;
    for (const auto& [index, block] : blocks_) {
      if (block != nullptr) block->take(weights);
    }
  }
  void trim() { blocks_.clear(); }

  void report(Report& report) const {
    for (const auto& [index, block] : blocks_) {
      if (block != nullptr) block->report(report);
    }
  }

 private:
  [[gnu::noinline]] void end_blocks() {
    has_run_ = false;
    for (const auto& [index, block] : blocks_) {
      if (block != nullptr) block->end_call();
    }
  }

  // Returns null if the nodes of the block have to run one by one. Also returns null if the block calls no
  // operator on tensors, because replaying it would save nothing.
  std::unique_ptr<ReplayedBlock> make(std::uint32_t block) {
    const torch::jit::Block* const source = &content_->source(block);
    const bool computes = sr::detail::any_node(
        source, [](const torch::jit::Node* node) { return sr::detail::dispatched(*node).has_value(); });
    if (!computes || !BlockEffects::of(source).are_known) return nullptr;
    auto made = std::make_unique<ReplayedBlock>(*content_, block, weights_, *planner_, *this);
    made->time_steps(times_steps_, /*forgets=*/false);
    return made;
  }

  const PreparedModule* content_;
  std::shared_ptr<const WeightSet> weights_;
  const memory::PlannerOps* planner_;
  bool times_steps_ = false, has_run_ = false;
  std::map<std::uint32_t, std::unique_ptr<ReplayedBlock>> blocks_;  // by index, once they have run
};

}  // namespace sr::replay
