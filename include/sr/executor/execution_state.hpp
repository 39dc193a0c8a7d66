// The state of the general path: a table of values, and a runner for each block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sr/executor/block_runner.hpp>
#include <sr/graph/observer.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/module/prepared_module.hpp>

namespace sr {

// Must not move, since the frame points to it. The module and the weights must outlive it.
struct ExecutionState {
  ExecutionState(const PreparedModule& content, const WeightSet& weights, const memory::PlannerOps& planner,
                 const ObserverHooks& hooks = {})
      : observer(hooks) {
    frame.planner = &planner;
    frame.values.resize(content.slot_count);
    frame.states.resize(content.state_count);
    take(weights);
    frame.runtime = this;
    frame.run_block = &run_block;
    frame.take_output = &take_output;
    frame.finish_block = &finish_block;
    runners.reserve(content.blocks.size());
    for (std::size_t i = 0; i < content.blocks.size(); ++i) {
      runners.emplace_back(content.blocks[i], static_cast<std::uint32_t>(i), frame, observer, planner,
                           content.options.memory.optimize);
    }
  }
  ExecutionState(const ExecutionState&) = delete;
  ExecutionState& operator=(const ExecutionState&) = delete;

  // Takes the constants of other weights, and forgets everything that was computed from the old ones.
  void take(const WeightSet& weights) {
    frame.weights = &weights;
    std::ranges::copy(weights.constants(), frame.values.begin());
    for (NodeState& state : frame.states) state.forget_weights();
  }

  Frame frame;
  ObserverHooks observer;
  std::vector<BlockRunner> runners;

 private:
  static ExecutionState& of(Frame& frame) { return *static_cast<ExecutionState*>(frame.runtime); }
  static void run_block(Frame& frame, std::uint32_t block) {
    BlockRunner& runner = of(frame).runners[block];
    if (frame.blocks == nullptr || !runner.run_by(*frame.blocks)) runner.run();
  }
  static c10::IValue take_output(Frame& frame, std::uint32_t block, std::size_t i) {
    return of(frame).runners[block].take_output(i);
  }
  static void finish_block(Frame& frame, std::uint32_t block) { of(frame).runners[block].finish(); }
};

namespace detail {

// Which nodes a replay has run matters to the call that finishes it alone.
struct ForgetRanNodes {
  Frame& frame;
  ~ForgetRanNodes() {
    if (frame.ran == nullptr) return;
    frame.ran->clear();
    frame.ran = nullptr;
  }
};

// Releases what the call still holds, also if its results could not be handed over.
struct Release {
  ExecutionState& execution;
  ~Release() {
    execution.observer.begin(Phase::release);
    execution.runners[0].finish();
    execution.observer.end(Phase::release);
  }
};

}  // namespace detail

}  // namespace sr
