// The way of a call that runs the nodes of the graph in order, without a program.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <sr/base/thread_modes.hpp>
#include <sr/executor/arena.hpp>
#include <sr/executor/arguments.hpp>
#include <sr/executor/block_memory.hpp>
#include <sr/executor/block_runner.hpp>
#include <sr/executor/copied_results.hpp>
#include <sr/executor/counted_writes.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/executor/kept_outputs.hpp>
#include <sr/graph/observer.hpp>
#include <sr/graph/report.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/state_in_call.hpp>
#include <sr/replay/runner/replayer.hpp>

namespace sr::detail {

// The module and the weights must outlive it. It must not move, since its frame points to it.
class GeneralPath {
 public:
  GeneralPath(const PreparedModule& module, const WeightSet& weights, const memory::PlannerOps& planner,
              const ObserverHooks& hooks)
      : module_(&module), execution_(module, weights, planner, hooks) {}

  // Runs the graph. Nodes that a replay of this call has run already do not run again. Moves from the
  // arguments. `state` is null if the module has none. Copies the results into `outputs` too, unless that is
  // null. Throws ArgumentError and what operators throw; the state is then as it was, or broken.
  c10::IValue run(std::span<c10::IValue> args, const KeywordArgs* kwargs, replay::Replayer& replayer,
                  SessionState* state, const c10::ArrayRef<at::Tensor>* outputs = nullptr) {
    const ThreadModes modes = ThreadModes::now();
    kept_outputs_.obey(modes, execution_);
    Frame& frame = execution_.frame;
    frame.dispatches = modes.autocast() || replay::Environment::memory_is_filled();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    const ObserverHooks& observer = execution_.observer;
    observer.begin(Phase::setup);
    BlockRunner& top = execution_.runners[0];
    const auto& inputs = module_->blocks[0].inputs;
    bind_arguments(module_->schema, args, kwargs,
                   [&](std::size_t i, c10::IValue&& value) { frame.values[inputs[i]] = std::move(value); });
    const auto argument = [&](std::size_t i) -> const c10::IValue& { return frame.values[inputs[i]]; };
    StateGuard guard(state, module_->writes_state);
    std::optional<StateInCall> of_state;
    if (state != nullptr) {
      of_state.emplace(*module_, *state, argument);
      enter(*of_state, state->values().self());
    }
    const CountedWrites counted(module_->written_inputs, argument);
    if (module_->options.memory.manage_outputs) top.recycle_outputs();
    observer.end(Phase::setup);
    frame.ran = replayer.ran();
    replayer.forget_failure();
    const ForgetRanNodes forget{frame};
    top.run();
    const Release release{execution_};
    if (!of_state) return fresh_copies(*module_, argument, take_results(top));
    c10::IValue result = of_state->finish(take_all(top), frame.weights->constants());
    if (outputs != nullptr) copy_all_results(result, *outputs);
    of_state->commit();
    guard.keep();
    return result;
  }

  // Computes with other weights from the next call on.
  void take(const WeightSet& weights) { execution_.take(weights); }

  // Allocates the arenas for the sizes of the last call.
  void reserve() {
    for (BlockRunner& runner : execution_.runners) runner.reserve();
  }
  // Frees the arenas and the outputs that nodes keep.
  void trim() {
    for (BlockRunner& runner : execution_.runners) runner.trim();
    for (NodeState& state : execution_.frame.states) state.valid = false;
  }

  Frame& frame() { return execution_.frame; }
  const memory::PlannerOps& planner() const { return *execution_.frame.planner; }
  const memory::Arena& arena(std::size_t block) const { return execution_.runners.at(block).arena(); }

  Report report() const {
    std::vector<BlockMemory> memory;
    for (const BlockRunner& runner : execution_.runners) memory.push_back(block_memory(runner.arena()));
    return make_report(*module_, std::string(planner().name), std::move(memory));
  }

 private:
  c10::IValue take_results(BlockRunner& top) {
    if (module_->blocks[0].outputs.size() == 1) return top.take_output(0);
    return join_results(take_all(top));
  }
  std::vector<c10::IValue> take_all(BlockRunner& top) {
    std::vector<c10::IValue> all;
    for (std::size_t i = 0; i < module_->blocks[0].outputs.size(); ++i) all.push_back(top.take_output(i));
    return all;
  }

  void enter(const StateInCall& state, const c10::IValue& self) {
    const std::vector<Slot>& inputs = module_->blocks[0].inputs;
    const std::size_t first = inputs.size() - state.variables().size();
    for (std::size_t v = 0; v < state.variables().size(); ++v)
      execution_.frame.values[inputs[first + v]] = state.variables()[v];
    if (!self.isNone()) execution_.frame.values[0] = self;
  }

  const PreparedModule* module_;
  ExecutionState execution_;
  KeptOutputs kept_outputs_;
};

}  // namespace sr::detail
