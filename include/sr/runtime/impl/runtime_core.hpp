// Definitions of <sr/runtime/runtime_core.hpp>.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <sr/executor/forked_tasks.hpp>
#include <sr/runtime/runtime_core.hpp>
#include <sr/runtime/state_calls.hpp>
#include <sr/runtime/unplanned_calls.hpp>

namespace sr::detail {

SR_INLINE std::shared_ptr<void> hold_state(const std::shared_ptr<SessionState>& state) {
  return state == nullptr ? nullptr : std::make_shared<StateUse>(state.get());
}

SR_INLINE RuntimeCore::RuntimeCore(std::shared_ptr<const PreparedModule> content,
                                   std::shared_ptr<SessionState> state, const memory::PlannerOps& planner,
                                   const ObserverHooks& hooks, std::shared_ptr<void> observed)
    : state_(std::make_shared<RuntimeState>(std::move(content), std::move(state), planner, hooks,
                                            std::move(observed))) {}

SR_INLINE c10::IValue RuntimeCore::call(std::span<c10::IValue> args, const KeywordArgs* kwargs,
                                        const CallOptions* options, SessionState* state,
                                        bool holds_state) const {
  return state_->run_counted({args, kwargs, options, CallMode::usual, state, holds_state});
}

SR_INLINE c10::IValue RuntimeCore::call_with(std::shared_ptr<const WeightSet> weights,
                                             std::span<c10::IValue> args, const CallOptions& options) const {
  return state_->run_forked(std::move(weights), args, options);
}

SR_INLINE c10::IValue RuntimeCore::call_borrowed(std::span<const c10::IValue> args) const {
  if (state_->counters()->begin_call()) [[unlikely]]
    return state_->counters()->time([=, this] { return state_->run_borrowed(args); });
  return state_->run_borrowed(args);
}

SR_INLINE void RuntimeCore::run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                                     const CallOptions* options) const {
  if (state_->counters()->begin_call()) [[unlikely]]
    return state_->counters()->time([=, this] { state_->run_into(args, outputs, options); });
  state_->run_into(args, outputs, options);
}

SR_INLINE void RuntimeCore::run_into_on(SessionState* state, c10::ArrayRef<c10::IValue> args,
                                        c10::ArrayRef<at::Tensor> outputs) const {
  if (state == nullptr) return run_into(args, outputs, nullptr);
  const auto run = [=, this] { state_->run_into_on(*state, args, outputs, nullptr); };
  state_->counters()->begin_call() ? state_->counters()->time(run) : run();
}

SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> RuntimeCore::run_async(std::vector<c10::IValue> args,
                                                                         const KeywordArgs& kwargs,
                                                                         const CallOptions& options) const {
  auto future = c10::make_intrusive<c10::ivalue::Future>(state_->content()->result_type());
  run_or_launch(options, *future,
                [state = state_, args = std::move(args), kwargs, options, future]() mutable {
                  complete(*future, [&] { return state->run_counted({args, &kwargs, &options}); });
                });
  return future;
}

SR_INLINE void RuntimeCore::reserve(std::vector<c10::IValue> args, const KeywordArgs& kwargs) const {
  state_->reserve(args, kwargs);
}

SR_INLINE void RuntimeCore::trim() const {
  state_->trim();
}

SR_INLINE void RuntimeCore::time_steps(bool on) const {
  state_->time_steps(on);
}

SR_INLINE Report RuntimeCore::report() const {
  return state_->report();
}

SR_INLINE std::shared_ptr<const CallCounters> RuntimeCore::counters() const {
  return state_->counters();
}

SR_INLINE std::uint64_t RuntimeCore::replayed_calls() const {
  return state_->replayed_calls();
}

SR_INLINE c10::TypePtr RuntimeCore::result_type() const {
  return state_->content()->result_type();
}

SR_INLINE const memory::Arena& RuntimeCore::arena(std::size_t block) const {
  return state_->arena(block);
}

SR_INLINE void RuntimeCore::each_plan_buffer(void (*visit)(void* with, const memory::AnyBuffer& buffer),
                                             void* with) const {
  state_->each_plan_buffer([&](const memory::AnyBuffer& buffer) { visit(with, buffer); });
}

SR_INLINE const std::shared_ptr<const PreparedModule>& RuntimeCore::content() const {
  return state_->content();
}

SR_INLINE const std::shared_ptr<SessionState>& RuntimeCore::state() const {
  return state_->state();
}

}  // namespace sr::detail
