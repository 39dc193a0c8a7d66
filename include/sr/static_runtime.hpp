// Runs a StaticModule, one call at a time.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/arguments.hpp>
#include <sr/call_options.hpp>
#include <sr/forked_tasks.hpp>
#include <sr/fwd.hpp>
#include <sr/lent_values.hpp>
#include <sr/pool/object_pool.hpp>
#include <sr/report.hpp>
#include <sr/runtime_state.hpp>
#include <sr/static_module.hpp>

namespace sr {

// Belongs to one thread at a time and says so with BusyError. Shares ownership of the module, so the order of
// destruction does not matter; the tensors it returns are the caller's and may be kept for ever.
//
// Results equal the interpreter's in values, dtypes, sizes and aliasing, for any shapes on any run. After an
// exception, which keeps the type it was thrown with, nothing of the call is held and the next call works.
template <memory::Planner Planner, class Observer>
class StaticRuntime {
 public:
  explicit StaticRuntime(const StaticModule& module) : StaticRuntime(module.content()) {}
  explicit StaticRuntime(std::shared_ptr<const ModuleContent> content)
      : state_(std::make_shared<State>(std::move(content))) {}

  // Positional and keyword arguments, bound as Python does. Throws ArgumentError, BusyError, and what
  // operators throw.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) {
    return state_->call(args, &kwargs);
  }

  // A call that can be cancelled, or that forks onto a launcher of the caller's. Throws CancelledError too.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                         const CallOptions& options) {
    return state_->call(args, &kwargs, &options);
  }

  // Positional arguments without a vector: tensors, numbers, anything an IValue is made of. Variables of the
  // caller must stay as they are until the call returns.
  template <class... Args>
  requires(sizeof...(Args) > 0 && (std::is_constructible_v<c10::IValue, Args&&> && ...) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, std::vector<c10::IValue>> || ...) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, KeywordArgs> || ...)) c10::IValue
  operator()(Args&&... args) {
    const detail::LentValues<Args...> values(std::forward<Args>(args)...);
    return state_->call_lent(values.span());
  }

  // Copies the results into tensors of the caller, one for each tensor of the result in depth-first order;
  // their dtypes and sizes must be those of the results. Throws ArgumentError when they are not.
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) {
    state_->run_into(args, outputs, nullptr);
  }
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions& options) {
    state_->run_into(args, outputs, &options);
  }

  // The parent graph runs inline on the caller and is complete on return, what it forks runs on the launcher.
  // Exceptions travel in the future.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args,
                                                    const KeywordArgs& kwargs = {},
                                                    torch::jit::TaskLauncher launcher = at::launch) {
    CallOptions options;
    options.launcher = std::move(launcher);
    return run_async(std::move(args), kwargs, options);
  }

  // With options.on_launcher the whole call is a task of the launcher. The runtime is in use until the future
  // is complete, and may be destroyed before.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                                    const CallOptions& options) {
    auto future = c10::make_intrusive<c10::ivalue::Future>(state_->result_type());
    detail::run_or_launch(options,
                          [state = state_, args = std::move(args), kwargs, options, future]() mutable {
                            detail::complete(*future, [&] { return state->call(args, &kwargs, &options); });
                          });
    return future;
  }

  // Runs with these arguments and makes ready for them: plans memory, largest sizes first in a server's life,
  // and makes a plan for replay at once.
  void reserve(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) {
    if (state_->run_general_once(args, kwargs)) state_->call(args, &kwargs, nullptr, /*record=*/true);
  }

  // Gives the arena and recycled outputs back to the system; sizes seen so far are forgotten.
  void trim() {
    const Entered entered(*state_);
    for (auto& runner : state_->machine.runners) runner.trim();
    for (NodeState& state : state_->machine.frame.states) state.valid = false;
    state_->replayer.trim();
  }

  // A runtime of its own over the same module.
  StaticRuntime clone() const { return StaticRuntime(state_->content); }

  Report report() const {
    std::vector<BlockMemory> memory;
    for (const auto& runner : state_->machine.runners) memory.push_back(block_memory(runner.arena()));
    Report report = make_report(*state_->content, std::string(Planner::name), std::move(memory));
    state_->replayer.report(report);
    return report;
  }

  // Calls so far that a plan answered.
  std::uint64_t replayed_calls() const { return state_->replayer.replayed_calls(); }

  // What a future of a call of it holds.
  c10::TypePtr result_type() const { return state_->result_type(); }

  Observer& observer() { return state_->machine.observer; }
  // The arena of a block, for tests and tools. Not to be used while the runtime runs.
  const memory::Arena<Planner>& arena(std::size_t block = 0) const {
    return state_->machine.runners[block].arena();
  }
  template <class Visit>
  void each_plan_slab(const Visit& visit) const {
    state_->replayer.each_slab(visit);
  }
  const std::shared_ptr<const ModuleContent>& content() const { return state_->content; }

 private:
  using State = detail::RuntimeState<Planner, Observer>;
  using Entered = typename State::Entered;

  std::shared_ptr<State> state_;  // with the calls that are on a launcher
};

// At most so many for the calls of a StaticModule, and for each forked body.
inline constexpr std::size_t kOwnRuntimes = 256;

namespace detail {

template <memory::Planner Planner>
using Runtimes = pool::ObjectPool<StaticRuntime<Planner>>;

template <memory::Planner Planner>
std::shared_ptr<Runtimes<Planner>> make_runtimes(const std::shared_ptr<const ModuleContent>& content) {
  return std::make_shared<Runtimes<Planner>>(
      kOwnRuntimes, [content] { return std::make_unique<StaticRuntime<Planner>>(content); });
}

}  // namespace detail

inline c10::IValue StaticModule::operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs) const {
  std::call_once(own_->once, [this] { own_->pool = detail::make_runtimes<memory::LinearScan>(content_); });
  const auto* const pool = static_cast<const detail::Runtimes<memory::LinearScan>*>(own_->pool.get());
  const auto runtime = pool->lease();
  return (*runtime)(std::move(args), kwargs);
}

template <memory::Planner Planner>
auto& ForkBody::pool() const {
  using Pool = detail::Runtimes<Planner>;
  const std::type_index planner = typeid(Planner);
  const std::scoped_lock lock(mutex_);
  for (const auto& [made_for, pool] : pools_) {
    if (made_for == planner) return *static_cast<Pool*>(pool.get());
  }
  pools_.emplace_back(planner, detail::make_runtimes<Planner>(content_));
  return *static_cast<Pool*>(pools_.back().second.get());
}

template <memory::Planner Planner>
c10::IValue ForkBody::run(const ForkBody& body, std::vector<c10::IValue> args, const CallOptions& options) {
  if (!body.is_interpreted()) {
    const auto runtime = body.pool<Planner>().lease();
    return (*runtime)(std::move(args), {}, options);
  }
  options.check();
  torch::jit::InterpreterState(*body.code_).run(args);
  return torch::jit::pop(args);
}

}  // namespace sr
