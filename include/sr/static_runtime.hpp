// Runs a StaticModule, one call at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/borrowed_args.hpp>
#include <sr/base/call_options.hpp>
#include <sr/bound_call.hpp>
#include <sr/executor/call_counters.hpp>
#include <sr/fwd.hpp>
#include <sr/graph/observer.hpp>
#include <sr/graph/report.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/runtime/runtime_core.hpp>
#include <sr/static_module.hpp>

namespace sr {

// Belongs to one thread at a time; a second call throws BusyError. Shares ownership of the module, so that
// the order of destruction does not matter. The tensors that it returns belong to the caller and stay valid.
//
// Results equal the interpreter's in values, dtypes, sizes and aliasing, for any shapes in any call. An
// exception keeps the type with which it was thrown; after it nothing of the call is held, and the next call
// works.
//
// Planner and Observer are policies (memory/planner.hpp, graph/observer.hpp); the code that runs is compiled
// once for all of them.
template <memory::Planner Planner, class Observer>
class StaticRuntime {
 public:
  explicit StaticRuntime(const StaticModule& module)
      : StaticRuntime(module.content(), module.session_state()) {}
  // `state` is null if the module has none.
  StaticRuntime(std::shared_ptr<const PreparedModule> content, std::shared_ptr<SessionState> state)
      : StaticRuntime(std::move(content), std::move(state), std::make_shared<Observer>()) {}

  // Positional and keyword arguments, bound as Python does. Throws ArgumentError, BusyError, and what
  // operators throw.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) {
    return core_.call(args, &kwargs, nullptr);
  }

  // A call that can be cancelled, or that forks onto a launcher of the caller's. Throws CancelledError too.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                         const CallOptions& options) {
    return core_.call(args, &kwargs, &options);
  }

  // Positional arguments without a vector: tensors, numbers, anything an IValue is made of. Variables of the
  // caller must stay as they are until the call returns.
  template <class... Args>
  requires(sizeof...(Args) > 0 && (std::is_constructible_v<c10::IValue, Args&&> && ...) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, std::vector<c10::IValue>> || ...) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, KeywordArgs> || ...)) c10::IValue
  operator()(Args&&... args) {
    const detail::BorrowedArgs<Args...> values(std::forward<Args>(args)...);
    return core_.call_borrowed(values.span());
  }

  // Positional arguments that stay as they are until the call returns.
  c10::IValue call_borrowed(std::span<const c10::IValue> args) { return core_.call_borrowed(args); }

  // Copies the results into tensors of the caller, one for each tensor of the result in depth-first order;
  // their dtypes and sizes must be those of the results. Throws ArgumentError when they are not.
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) {
    core_.run_into(args, outputs, nullptr);
  }
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions& options) {
    core_.run_into(args, outputs, &options);
  }

  // Calls on the state of a session, or on the module's if `state` is null. `holds_state` says that the
  // caller has reserved the state, see hold_state. `kwargs` and `options` may be null.
  c10::IValue call_on(SessionState* state, std::vector<c10::IValue> args, const KeywordArgs* kwargs,
                      const CallOptions* options, bool holds_state = false) {
    return core_.call(args, kwargs, options, state, holds_state);
  }
  void run_into_on(SessionState* state, c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) {
    core_.run_into_on(state, args, outputs);
  }

  // A call that reads the tensors of `args` and writes into `outputs` each time, one for each tensor of the
  // result in depth-first order; without outputs they are made. Calls once to find the program, on a copy of
  // the state if the model has one. Throws what run_into throws, and ArgumentError if the model returns no
  // tensor.
  BoundCall bind(std::vector<c10::IValue> args, std::vector<at::Tensor> outputs = {},
                 const KeywordArgs& kwargs = {}) const {
    return core_.bind(std::move(args), kwargs, std::move(outputs));
  }

  // The parent graph runs inline on the caller and is complete on return, what it forks runs on the launcher
  // (empty: LibTorch's inter-op threads). Exceptions travel in the future.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args,
                                                    const KeywordArgs& kwargs = {},
                                                    TaskLauncher launcher = {}) {
    CallOptions options;
    options.launcher = std::move(launcher);
    return run_async(std::move(args), kwargs, options);
  }

  // With options.on_launcher the whole call is a task of the launcher. The runtime is in use until the future
  // is complete, and may be destroyed before.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                                    const CallOptions& options) {
    return core_.run_async(std::move(args), kwargs, options);
  }

  // Runs with these arguments and prepares for further calls with them: plans memory, and records a replay
  // plan. A server calls it with its largest sizes first. The call leaves the state of the model as it is.
  void reserve(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) {
    core_.reserve(std::move(args), kwargs);
  }

  // Frees the arena, the recycled outputs and the runtime's replay plans, and forgets the sizes seen so far.
  // Copies of plans that the module keeps stay: the next call takes one.
  void trim() { core_.trim(); }

  // While on, replays measure how long each of their steps takes; report() has the means
  // (PlanReport::steps, StepReport::seconds), and LibTorch's profiler sees each step as a range. Switching it
  // on forgets earlier times. While on, a replay costs two readings of a clock a step, or one of eight
  // replays does so if its steps are as short as that; it costs nothing while off. Bound calls that exist
  // already stay as they are. Throws BusyError while the runtime runs.
  void time_steps(bool on) { core_.time_steps(on); }

  // Makes another runtime of the same module, with the same state.
  StaticRuntime clone() const { return StaticRuntime(content(), core_.state()); }

  Report report() const { return core_.report(); }

  // Counts and latencies of its calls. May be called from any thread, while the runtime runs.
  CallMetrics metrics() const { return core_.counters()->metrics(); }
  // For RuntimePool: what metrics() reads. Outlives the runtime.
  std::shared_ptr<const detail::CallCounters> counters() const { return core_.counters(); }

  // The number of calls that were replayed.
  std::uint64_t replayed_calls() const { return core_.replayed_calls(); }

  // The type of a call's result, as futures state it.
  c10::TypePtr result_type() const { return core_.result_type(); }

  Observer& observer() { return *observer_; }

  // The arena of a block, for tests and tools (<sr/executor/arena.hpp>). Must not be used while the runtime
  // runs.
  const memory::Arena& arena(std::size_t block = 0) const { return core_.arena(block); }

  // For tests of planners that bring their own Buffer: calls visit(buffer) for the memory of each replay
  // plan.
  template <class Visit>
  void each_plan_buffer(const Visit& visit) const {
    core_.each_plan_buffer(
        [](void* with, const memory::AnyBuffer& buffer) {
          (*static_cast<const Visit*>(with))(*static_cast<const typename Planner::Buffer*>(buffer.object()));
        },
        const_cast<Visit*>(&visit));
  }

  const std::shared_ptr<const PreparedModule>& content() const { return core_.content(); }

 private:
  // Calls on a launcher may outlive this handle, so the runtime's state keeps the observer.
  StaticRuntime(std::shared_ptr<const PreparedModule> content, std::shared_ptr<SessionState> state,
                std::shared_ptr<Observer> observer)
      : observer_(observer.get()),
        core_(std::move(content), std::move(state), memory::kPlannerOps<Planner>, hooks_of(*observer),
              observer) {}

  Observer* observer_;
  detail::RuntimeCore core_;
};

}  // namespace sr
