// A module that any number of threads call. Each call has its own runtime while it lasts.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/intra_op_width.hpp>
#include <sr/base/processors.hpp>
#include <sr/executor/call_counters.hpp>
#include <sr/executor/forked_tasks.hpp>
#include <sr/executor/pool_counters.hpp>
#include <sr/fwd.hpp>
#include <sr/pool/object_pool.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

namespace sr {

struct RuntimePoolOptions {
  std::size_t max_runtimes = kOwnRuntimes;  // made as they are needed; 1 to 65533
  // How long a call waits while all runtimes are in use before it throws BusyError.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
  // Intra-op threads of each call. 0 keeps the number of the calling thread, up to the number of processors
  // that the process may use.
  int intra_op_threads = 0;
};

struct PoolReport {
  Report runtime;  // the one this thread would use
  pool::PoolMetrics pool;
  int intra_op_threads = 0;
  int cores = 0;        // those this process may use
  std::string warning;  // empty: nothing to say
};

// Shares ownership of the module. All functions but the destructor may be called from any number of threads
// at once. The pool, the module, leases, results and futures may be destroyed in any order.
//
// A thread gets the runtime that it used last, or else any idle one: no more runtimes are made, and record
// the model's signatures, than there are concurrent callers.
template <memory::Planner Planner>
class RuntimePool {
 public:
  using Runtime = StaticRuntime<Planner>;
  using Lease = typename pool::ObjectPool<Runtime>::Lease;

  // Throws ArgumentError if the number of runtimes is out of range.
  explicit RuntimePool(const StaticModule& module, const RuntimePoolOptions& options = {})
      : RuntimePool(module.content(), module.session_state(), options) {}
  // `state` is null if the module has none.
  RuntimePool(std::shared_ptr<const PreparedModule> content, std::shared_ptr<SessionState> state,
              const RuntimePoolOptions& options = {})
      : options_(checked(options)),
        runtimes_(options.max_runtimes,
                  [content = std::move(content), state = std::move(state), counters = counters_] {
                    auto runtime = std::make_unique<Runtime>(content, state);
                    counters->add(runtime->counters());
                    return runtime;
                  }) {}

  // Calls an idle runtime; see StaticRuntime. Throws BusyError if none becomes idle in time.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) const {
    return with_runtime([&](Runtime& runtime) { return runtime(std::move(args), kwargs); });
  }
  // The deadline counts while the call waits for a runtime, too.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                         const CallOptions& options) const {
    return with_runtime([&](Runtime& runtime) { return runtime(std::move(args), kwargs, options); }, options);
  }
  template <class... Args>
  requires std::is_invocable_v<Runtime&, Args&&...> &&(sizeof...(Args) > 0) &&
      (!std::is_same_v<std::remove_cvref_t<Args>, std::vector<c10::IValue>> && ...) c10::IValue operator()(
          Args&&... args) const {
    return with_runtime([&](Runtime& runtime) { return runtime(std::forward<Args>(args)...); });
  }

  c10::IValue call_borrowed(std::span<const c10::IValue> args) const {
    return with_runtime([&](Runtime& runtime) { return runtime.call_borrowed(args); });
  }

  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) const {
    with_runtime([&](Runtime& runtime) { runtime.run_into(args, outputs); });
  }

  // See StaticRuntime. The caller leases the runtime, which returns to the pool when the call has ended.
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args,
                                                    const KeywordArgs& kwargs = {},
                                                    TaskLauncher launcher = {}) const {
    CallOptions options;
    options.launcher = std::move(launcher);
    return run_async(std::move(args), kwargs, options);
  }
  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                                    const CallOptions& options) const {
    return run_async_on(nullptr, std::move(args), kwargs, options);
  }

  // Calls on the state of a session, or on the module's if `state` is null. `holds_state` says that the
  // caller has reserved the state, see hold_state. `kwargs` and `options` may be null.
  c10::IValue call_on(SessionState* state, std::vector<c10::IValue> args, const KeywordArgs* kwargs,
                      const CallOptions* options, bool holds_state = false) const {
    const auto call = [&](Runtime& runtime) {
      return runtime.call_on(state, std::move(args), kwargs, options, holds_state);
    };
    return options == nullptr ? with_runtime(call) : with_runtime(call, *options);
  }
  // Answers the joined call of a batch, as a BatchModel does.
  c10::IValue call_joined(SessionState* state, std::vector<c10::IValue> args,
                          const CallOptions& given) const {
    return call_on(state, std::move(args), nullptr, given.trace == nullptr ? nullptr : &given,
                   /*holds_state=*/state != nullptr);
  }
  void run_into_on(SessionState* state, c10::ArrayRef<c10::IValue> args,
                   c10::ArrayRef<at::Tensor> outputs) const {
    with_runtime([&](Runtime& runtime) { runtime.run_into_on(state, args, outputs); });
  }
  // Reserves the state immediately.
  c10::intrusive_ptr<c10::ivalue::Future> run_async_on(std::shared_ptr<SessionState> state,
                                                       std::vector<c10::IValue> args,
                                                       const KeywordArgs& kwargs,
                                                       const CallOptions& options) const {
    std::shared_ptr<void> use = detail::hold_state(state);
    auto runtime = std::make_shared<std::optional<Lease>>(lease(options));
    auto future = c10::make_intrusive<c10::ivalue::Future>((*runtime)->operator*().result_type());
    auto run = [runtime = std::move(runtime), args = std::move(args), kwargs, options, future,
                state = std::move(state), use = std::move(use), pool_width = Width(*this)]() mutable {
      detail::complete(*future, [&] {
        // Back before the future is complete, when the caller may call again.
        const std::shared_ptr<void> used = std::move(use);
        const std::optional<Lease> leased = std::move(*runtime);
        runtime->reset();
        const IntraOpWidth width(pool_width.now());
        return (**leased).call_on(state.get(), std::move(args), &kwargs, &options, state != nullptr);
      });
    };
    detail::run_or_launch(options, *future, std::move(run));
    return future;
  }

  // A runtime for several calls of one thread. Throws BusyError.
  Lease lease() const { return lease(CallOptions{}); }

  // Prepares that many runtimes for these arguments, as StaticRuntime::reserve does.
  void reserve(const std::vector<c10::IValue>& args, const KeywordArgs& kwargs = {},
               std::size_t runtimes = 1) const {
    const IntraOpWidth width(Width(*this).now());  // which plans are made for
    std::vector<Lease> all;
    for (std::size_t i = 0; i < runtimes; ++i) {
      all.push_back(lease());
      all.back()->reserve(args, kwargs);
    }
  }

  // Destroys the runtimes that are not in use.
  void trim() const { runtimes_.trim(); }

  // Sums over the calls of all its runtimes, including those that trim() destroyed. Calls that are running
  // may be missing from a sum. Calls that found no runtime in time are not counted here, but in
  // pool_metrics().
  CallMetrics metrics() const { return counters_->metrics(); }
  // How many runtimes there are and are in use, and how often calls waited for one.
  pool::PoolMetrics pool_metrics() const { return runtimes_.metrics(); }

  // The report of the runtime that this thread would use. Throws BusyError.
  PoolReport report() const {
    PoolReport report{
        lease()->report(), runtimes_.metrics(), options_.intra_op_threads, processors_allowed(), {}};
    if (report.intra_op_threads <= 0) report.intra_op_threads = intra_op_threads();
    const std::size_t most = report.pool.made * static_cast<std::size_t>(report.intra_op_threads);
    if (most > static_cast<std::size_t>(report.cores)) {
      report.warning = std::to_string(report.pool.made) + " runtimes were in use at once with " +
                       std::to_string(report.intra_op_threads) + " intra-op threads each, on " +
                       std::to_string(report.cores) +
                       " cores: they take the cores from each other. Fewer callers, or RuntimePoolOptions::"
                       "intra_op_threads = 1, give shorter latencies.";
    }
    return report;
  }

 private:
  // The number of intra-op threads of a call.
  struct Width {
    int given, most;

    explicit Width(const RuntimePool& pool) : given(pool.options_.intra_op_threads), most(pool.processors_) {}
    // For the calling thread; 0: as it has it.
    int now() const { return given > 0 ? given : libtorch_threads() > most ? most : 0; }
  };

  static RuntimePoolOptions checked(RuntimePoolOptions options) {
    if (options.max_runtimes == 0 || options.max_runtimes > pool::kMostObjects) {
      throw ArgumentError("RuntimePoolOptions::max_runtimes is " + std::to_string(options.max_runtimes) +
                          ", but a pool has 1 to " + std::to_string(pool::kMostObjects) + " runtimes.");
    }
    return options;
  }

  template <class Run>
  auto with_runtime(Run run, const CallOptions& options = {}) const {
    const Lease runtime = lease(options);
    const IntraOpWidth width(Width(*this).now());
    return run(*runtime);
  }

  Lease lease(const CallOptions& options) const {
    using Clock = CallOptions::Clock;
    Clock::time_point until = options.deadline;
    if (options_.timeout != std::chrono::nanoseconds::max()) {
      const Clock::time_point now = Clock::now();
      if (options_.timeout < until - now) until = now + options_.timeout;
    }
    if (std::optional<Lease> leased = runtimes_.lease_until(until)) return std::move(*leased);
    if (until == options.deadline) {
      throw CancelledError(
          "The call was cancelled: its deadline passed while it waited for a runtime of the pool.");
    }
    throw BusyError(
        "All " + std::to_string(options_.max_runtimes) + " runtimes of the pool were in use for " +
        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(options_.timeout).count()) +
        " us. Allow more (RuntimePoolOptions::max_runtimes), wait longer (timeout), or call less.");
  }

  RuntimePoolOptions options_;
  int processors_ = processors_allowed();
  std::shared_ptr<detail::PoolCounters> counters_ = std::make_shared<detail::PoolCounters>();
  pool::ObjectPool<Runtime> runtimes_;
};

}  // namespace sr
