// Replays of blocks within replays of calls.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

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
      : content_(&content),
        weights_(std::move(weights)),
        planner_(&planner),
        blocks_(content.blocks.size()) {}
  ReplayedBlocks(const ReplayedBlocks&) = delete;
  ReplayedBlocks& operator=(const ReplayedBlocks&) = delete;

  bool run(Frame& frame, std::uint32_t block) override {
    has_run_ = true;
    Block& known = blocks_[block];
    if (!std::exchange(known.has_run, true)) known.replayed = make(block);
    return known.replayed != nullptr && known.replayed->run(frame);
  }

  // Must be called when a call that may have run blocks has its results.
  [[gnu::always_inline]] void end_call() {
    if (has_run_) [[unlikely]]
      end_blocks();
  }

  // See Replayer::time_steps.
  void time_steps(bool on, bool forgets) {
    times_steps_ = on;
    for (const Block& block : blocks_) {
      if (block.replayed != nullptr) block.replayed->time_steps(on, forgets);
    }
  }

  // Drops all programs, which hold values and addresses of the old weights.
  void take(const std::shared_ptr<const WeightSet>& weights) {
    weights_ = weights;
    for (const Block& block : blocks_) {
      if (block.replayed != nullptr) block.replayed->take(weights);
    }
  }
  void trim() { blocks_ = std::vector<Block>(blocks_.size()); }

  void report(Report& report) const {
    for (const Block& block : blocks_) {
      if (block.replayed != nullptr) block.replayed->report(report);
    }
  }

 private:
  struct Block {
    bool has_run = false;
    std::unique_ptr<ReplayedBlock> replayed;  // null if its nodes have to run one by one
  };

  [[gnu::noinline]] void end_blocks() {
    has_run_ = false;
    for (const Block& block : blocks_) {
      if (block.replayed != nullptr) block.replayed->end_call();
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
  std::vector<Block> blocks_;  // by index
};

}  // namespace sr::replay
