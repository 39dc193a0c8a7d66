// Definitions of <sr/static_runtime.hpp>.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sr/block_memory.hpp>
#include <sr/forked_tasks.hpp>
#include <sr/memory/arena.hpp>
#include <sr/pool/object_pool.hpp>
#include <sr/runtime_state.hpp>
#include <sr/static_runtime.hpp>

namespace sr {

template <memory::Planner Planner, class Observer>
auto StaticRuntime<Planner, Observer>::make(std::shared_ptr<const ModuleContent> content)
    -> std::shared_ptr<State> {
  return std::make_shared<State>(std::move(content));
}

template <memory::Planner Planner, class Observer>
c10::IValue StaticRuntime<Planner, Observer>::operator()(std::vector<c10::IValue> args,
                                                         const KeywordArgs& kwargs) {
  return state_->call(args, &kwargs);
}

template <memory::Planner Planner, class Observer>
c10::IValue StaticRuntime<Planner, Observer>::operator()(std::vector<c10::IValue> args,
                                                         const KeywordArgs& kwargs,
                                                         const CallOptions& options) {
  return state_->call(args, &kwargs, &options);
}

template <memory::Planner Planner, class Observer>
c10::IValue StaticRuntime<Planner, Observer>::call_lent(std::span<const c10::IValue> args) {
  return state_->call_lent(args);
}

template <memory::Planner Planner, class Observer>
void StaticRuntime<Planner, Observer>::run_into(c10::ArrayRef<c10::IValue> args,
                                                c10::ArrayRef<at::Tensor> outputs) {
  state_->run_into(args, outputs, nullptr);
}

template <memory::Planner Planner, class Observer>
void StaticRuntime<Planner, Observer>::run_into(c10::ArrayRef<c10::IValue> args,
                                                c10::ArrayRef<at::Tensor> outputs,
                                                const CallOptions& options) {
  state_->run_into(args, outputs, &options);
}

template <memory::Planner Planner, class Observer>
c10::intrusive_ptr<c10::ivalue::Future> StaticRuntime<Planner, Observer>::run_async(
    std::vector<c10::IValue> args, const KeywordArgs& kwargs, torch::jit::TaskLauncher launcher) {
  CallOptions options;
  options.launcher = std::move(launcher);
  return run_async(std::move(args), kwargs, options);
}

template <memory::Planner Planner, class Observer>
c10::intrusive_ptr<c10::ivalue::Future> StaticRuntime<Planner, Observer>::run_async(
    std::vector<c10::IValue> args, const KeywordArgs& kwargs, const CallOptions& options) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(state_->result_type());
  detail::run_or_launch(options,
                        [state = state_, args = std::move(args), kwargs, options, future]() mutable {
                          detail::complete(*future, [&] { return state->call(args, &kwargs, &options); });
                        });
  return future;
}

template <memory::Planner Planner, class Observer>
void StaticRuntime<Planner, Observer>::reserve(std::vector<c10::IValue> args, const KeywordArgs& kwargs) {
  if (state_->run_general_once(args, kwargs)) state_->call(args, &kwargs, nullptr, /*record=*/true);
}

template <memory::Planner Planner, class Observer>
void StaticRuntime<Planner, Observer>::trim() {
  const typename State::Entered entered(*state_);
  for (auto& runner : state_->machine.runners) runner.trim();
  for (NodeState& state : state_->machine.frame.states) state.valid = false;
  state_->replayer.trim();
}

template <memory::Planner Planner, class Observer>
Report StaticRuntime<Planner, Observer>::report() const {
  std::vector<BlockMemory> memory;
  for (const auto& runner : state_->machine.runners) memory.push_back(block_memory(runner.arena()));
  Report report = make_report(*state_->content, std::string(Planner::name), std::move(memory));
  state_->replayer.report(report);
  return report;
}

template <memory::Planner Planner, class Observer>
std::uint64_t StaticRuntime<Planner, Observer>::replayed_calls() const {
  return state_->replayer.replayed_calls();
}

template <memory::Planner Planner, class Observer>
c10::TypePtr StaticRuntime<Planner, Observer>::result_type() const {
  return state_->result_type();
}

template <memory::Planner Planner, class Observer>
Observer& StaticRuntime<Planner, Observer>::observer() {
  return state_->machine.observer;
}

template <memory::Planner Planner, class Observer>
const memory::Arena<Planner>& StaticRuntime<Planner, Observer>::arena(std::size_t block) const {
  return state_->machine.runners[block].arena();
}

template <memory::Planner Planner, class Observer>
template <class Visit>
void StaticRuntime<Planner, Observer>::each_plan_slab(const Visit& visit) const {
  state_->replayer.each_slab(visit);
}

template <memory::Planner Planner, class Observer>
const std::shared_ptr<const ModuleContent>& StaticRuntime<Planner, Observer>::content() const {
  return state_->content;
}

namespace detail {

template <memory::Planner Planner>
using Runtimes = pool::ObjectPool<StaticRuntime<Planner>>;

template <memory::Planner Planner>
std::shared_ptr<Runtimes<Planner>> make_runtimes(const std::shared_ptr<const ModuleContent>& content) {
  return std::make_shared<Runtimes<Planner>>(
      kOwnRuntimes, [content] { return std::make_unique<StaticRuntime<Planner>>(content); });
}

}  // namespace detail

}  // namespace sr

#include <sr/impl/fork_body.hpp>
