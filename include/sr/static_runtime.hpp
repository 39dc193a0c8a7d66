// Runs a StaticModule, one call at a time.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DefaultDtype.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/arguments.hpp>
#include <sr/block_runner.hpp>
#include <sr/call_options.hpp>
#include <sr/forked_tasks.hpp>
#include <sr/fwd.hpp>
#include <sr/machine.hpp>
#include <sr/plan/replayer.hpp>
#include <sr/pool/object_pool.hpp>
#include <sr/report.hpp>
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

  // Positional arguments without a vector: tensors, numbers, anything an IValue is made of.
  template <class... Args>
  requires(sizeof...(Args) > 0 && (std::is_constructible_v<c10::IValue, Args&&> && ...) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, std::vector<c10::IValue>> || ...) &&
           !(std::is_same_v<std::remove_cvref_t<Args>, KeywordArgs> || ...)) c10::IValue
  operator()(Args&&... args) {
    c10::IValue values[] = {c10::IValue(std::forward<Args>(args))...};
    return state_->call(values, nullptr);
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
  // Plans have no nodes to observe: whoever watches gets the general path.
  static constexpr bool kReplays = std::is_same_v<Observer, NoObserver>;

  struct State {
    explicit State(std::shared_ptr<const ModuleContent> shared)
        : content(std::move(shared)), machine(*content), replayer(*content) {}

    c10::IValue call(std::span<c10::IValue> args, const KeywordArgs* kwargs,
                     const CallOptions* options = nullptr, bool record = false) {
      if (options != nullptr) options->check();  // a call may be without steps
      const Entered entered(*this, options);
      if (!kReplays || !replayer.enabled()) return run_general(args, kwargs);
      if ((kwargs == nullptr || kwargs->empty()) && args.size() == content->schema.arguments().size()) {
        return replay_or_run(args, record);
      }
      std::vector<c10::IValue> bound(content->schema.arguments().size());
      bind_arguments(content->schema, args, kwargs,
                     [&](std::size_t i, c10::IValue&& value) { bound[i] = std::move(value); });
      return replay_or_run(bound, record);
    }

    // One value for each argument of the schema.
    c10::IValue replay_or_run(std::span<c10::IValue> args, bool record) {
      if (plan::Plan* plan = replayer.find(args)) {
        c10::IValue result;
        const auto replay = [&] {
          result = replayer.run(*plan, args, machine.frame.call);
          return true;
        };
        if (replayer.attempt(*plan, replay)) return result;
      } else if (record || replayer.should_record(args)) {
        bind_arguments(content->schema, args, nullptr, [](std::size_t, c10::IValue&&) {});
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        const at::NoGradGuard no_grad;
        return replayer.record(args, machine.frame.call);
      }
      return run_general(args, nullptr);
    }

    c10::IValue run_general(std::span<c10::IValue> args, const KeywordArgs* kwargs) {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      const at::NoGradGuard no_grad;
      Observer& observer = machine.observer;
      observer.begin(Phase::setup);
      forget_on_new_default_dtype();
      auto& top = machine.runners[0];
      const auto& inputs = content->blocks[0].inputs;
      bind_arguments(content->schema, args, kwargs, [&](std::size_t i, c10::IValue&& value) {
        machine.frame.values[inputs[i]] = std::move(value);
      });
      if (content->options.manage_output_tensors) top.recycle_outputs();
      observer.end(Phase::setup);
      top.run();
      const Finish finish{*this};
      c10::IValue result = take_results(top);
      return content->folded.empty() ? result : detail::FreshCopies(content->folded)(result);
    }

    // Plans the memory of the general path; true: replay is on, and the arguments are as they were.
    bool run_general_once(std::vector<c10::IValue>& args, const KeywordArgs& kwargs) {
      const Entered entered(*this);
      std::vector<c10::IValue> copies(args.begin(), args.end());  // which the call moves from
      run_general(copies, &kwargs);
      for (auto& runner : machine.runners) runner.reserve();
      return kReplays && replayer.enabled();
    }

    void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                  const CallOptions* options) {
      if (replay_into(args, outputs, options)) return;
      c10::SmallVector<c10::IValue, 8> values(args.begin(), args.end());
      const c10::IValue result = call(values, nullptr, options);
      std::size_t used = 0;
      detail::copy_results(result, outputs, used);
      if (used != outputs.size()) {
        throw ArgumentError("run_into was given " + std::to_string(outputs.size()) +
                            " output tensors, but the model returns " + std::to_string(used) + ".");
      }
    }

    // True: the results are in the caller's buffers.
    bool replay_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                     const CallOptions* options) {
      const Entered entered(*this, options);
      if (!kReplays || !replayer.enabled() || args.size() != content->schema.arguments().size()) return false;
      const std::span<const c10::IValue> values(args.data(), args.size());
      plan::Plan* plan = replayer.find(values);
      return plan != nullptr &&
             replayer.attempt(*plan, [&] { return replayer.run_into(*plan, values, outputs, options); });
    }

    // Releases what the call still holds, whether or not its results could be handed over.
    struct Finish {
      State& state;
      ~Finish() {
        state.machine.observer.begin(Phase::release);
        state.machine.runners[0].finish();
        state.machine.observer.end(Phase::release);
      }
    };

    c10::IValue take_results(BlockRunner<Planner, Observer>& top) {
      const std::size_t count = content->blocks[0].outputs.size();
      if (count == 1) return top.take_output(0);
      std::vector<c10::IValue> all;
      for (std::size_t i = 0; i < count; ++i) all.push_back(top.take_output(i));
      return detail::join_results(std::move(all));
    }

    c10::TypePtr result_type() const {
      const auto& returns = content->schema.returns();
      return returns.size() == 1 ? returns[0].type() : c10::TypePtr(c10::AnyType::get());
    }

    // Dtypes of some results depend on it (true division of integers, factory functions).
    void forget_on_new_default_dtype() {
      const auto now = c10::get_default_dtype_as_scalartype();
      if (now == default_dtype) return;
      for (NodeState& node : machine.frame.states) node.valid = false;
      default_dtype = now;
    }

    std::shared_ptr<const ModuleContent> content;
    Machine<Planner, Observer> machine;
    plan::Replayer<Planner> replayer;
    at::ScalarType default_dtype = c10::get_default_dtype_as_scalartype();
    std::atomic<bool> busy = false;
  };

  // One entry at a time, from whatever thread: an operator that calls its own runtime is caught too.
  class Entered {
   public:
    explicit Entered(State& state, const CallOptions* options = nullptr) : state_(&state) {
      if (state.busy.exchange(true, std::memory_order_acquire)) {
        throw BusyError(
            "This StaticRuntime is running already. It belongs to one thread at a time: give each thread its "
            "own "
            "(clone()), or call the StaticModule, which keeps a runtime for each caller.");
      }
      state.machine.frame.call = options;
    }
    ~Entered() {
      state_->machine.frame.call = nullptr;
      state_->busy.store(false, std::memory_order_release);
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    State* state_;
  };

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
