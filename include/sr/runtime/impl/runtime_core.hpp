// Definitions of <sr/runtime/runtime_core.hpp>.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sr/executor/arena.hpp>
#include <sr/executor/block_memory.hpp>
#include <sr/executor/forked_tasks.hpp>
#include <sr/replay/runner/traced_call.hpp>
#include <sr/runtime/runtime_core.hpp>
#include <sr/runtime/runtime_state.hpp>

namespace sr::detail {

SR_INLINE RuntimeCore::RuntimeCore(std::shared_ptr<const PreparedModule> content,
                                   const memory::PlannerOps& planner, const ObserverHooks& hooks,
                                   std::shared_ptr<void> observed)
    : state_(std::make_shared<RuntimeState>(std::move(content), planner, hooks, std::move(observed))) {}

// A call that counts in the metrics, and fills its trace.
inline c10::IValue counted_call(RuntimeState& state, std::span<c10::IValue> args, const KeywordArgs& kwargs,
                                const CallOptions& options) {
  std::optional<replay::TracedCall> traced;
  if (options.trace != nullptr) traced.emplace(*options.trace, state.replayer);
  const auto call = [&] { return state.call(args, &kwargs, &options); };
  return state.metrics->begin_call() ? state.metrics->time(call) : call();
}

SR_INLINE c10::IValue RuntimeCore::call(std::span<c10::IValue> args, const KeywordArgs* kwargs,
                                        const CallOptions* options) const {
  if (options != nullptr && options->trace != nullptr) [[unlikely]]
    return counted_call(*state_, args, *kwargs, *options);
  if (state_->metrics->begin_call()) [[unlikely]]
    return state_->metrics->time([=, this] { return state_->call(args, kwargs, options); });
  return state_->call(args, kwargs, options);
}

SR_INLINE c10::IValue RuntimeCore::call_with(std::shared_ptr<const WeightSet> weights,
                                             std::span<c10::IValue> args, const CallOptions& options) const {
  return state_->call_with(std::move(weights), args, options);
}

SR_INLINE c10::IValue RuntimeCore::call_borrowed(std::span<const c10::IValue> args) const {
  if (state_->metrics->begin_call()) [[unlikely]]
    return state_->metrics->time([=, this] { return state_->call_borrowed(args); });
  return state_->call_borrowed(args);
}

SR_INLINE void RuntimeCore::run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                                     const CallOptions* options) const {
  if (state_->metrics->begin_call()) [[unlikely]]
    return state_->metrics->time([=, this] { state_->run_into(args, outputs, options); });
  state_->run_into(args, outputs, options);
}

SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> RuntimeCore::run_async(std::vector<c10::IValue> args,
                                                                         const KeywordArgs& kwargs,
                                                                         const CallOptions& options) const {
  auto future = c10::make_intrusive<c10::ivalue::Future>(state_->result_type());
  run_or_launch(options, *future,
                [state = state_, args = std::move(args), kwargs, options, future]() mutable {
                  complete(*future, [&] { return counted_call(*state, args, kwargs, options); });
                });
  return future;
}

SR_INLINE void RuntimeCore::reserve(std::vector<c10::IValue> args, const KeywordArgs& kwargs) const {
  if (state_->prepared->state != nullptr) {  // there is nothing to record for such a module
    state_->call_on_copied_state(args, &kwargs);
    return;
  }
  if (state_->plan_general_path(args, kwargs)) state_->call(args, &kwargs, nullptr, /*record=*/true);
}

SR_INLINE void RuntimeCore::trim() const {
  const RuntimeState::Entry entry = state_->enter();
  for (BlockRunner& runner : state_->execution.runners) runner.trim();
  for (NodeState& state : state_->execution.frame.states) state.valid = false;
  state_->replayer.trim();
}

SR_INLINE void RuntimeCore::time_steps(bool on) const {
  const RuntimeState::Entry entry = state_->enter();
  state_->replayer.time_steps(on);
}

inline Report report_of(const RuntimeState& state) {
  std::vector<BlockMemory> memory;
  for (const BlockRunner& runner : state.execution.runners) memory.push_back(block_memory(runner.arena()));
  Report report =
      make_report(*state.prepared, std::string(state.execution.frame.planner->name), std::move(memory));
  state.replayer.report(report);
  return report;
}

SR_INLINE Report RuntimeCore::report() const {
  return report_of(*state_);
}

SR_INLINE std::shared_ptr<const CallCounters> RuntimeCore::counters() const {
  return state_->metrics;
}

SR_INLINE std::uint64_t RuntimeCore::replayed_calls() const {
  return state_->replayer.replayed_calls();
}

SR_INLINE c10::TypePtr RuntimeCore::result_type() const {
  return state_->result_type();
}

SR_INLINE const memory::Arena& RuntimeCore::arena(std::size_t block) const {
  return state_->execution.runners.at(block).arena();
}

SR_INLINE void RuntimeCore::each_plan_buffer(void (*visit)(void* with, const memory::AnyBuffer& buffer),
                                             void* with) const {
  state_->replayer.each_buffer([&](const memory::AnyBuffer& buffer) { visit(with, buffer); });
}

SR_INLINE const std::shared_ptr<const PreparedModule>& RuntimeCore::content() const {
  return state_->prepared;
}

}  // namespace sr::detail
