// A RuntimePool whose planner was chosen by name.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <ATen/core/ivalue_inl.h>

#include <sr/base/call_options.hpp>
#include <sr/base/fork_safe_mutex.hpp>
#include <sr/batching/options.hpp>
#include <sr/bound_call.hpp>
#include <sr/compat/benchmark.hpp>
#include <sr/profile.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/static_module.hpp>

namespace sr::python {

// How often each list of arguments is called before and during timing.
struct Runs {
  int warmup = 0;
  int timed = 1;
};

// Any number of threads may call everything, without the GIL. Arguments are bound: one
// value for each argument of the schema.
class Engine {
 public:
  virtual ~Engine() = default;

  // Does what RuntimePool::call_on and run_into_on do. `state` is null for the module's own, and `options`
  // may be null.
  virtual c10::IValue call(SessionState* state, std::vector<c10::IValue> args, const CallOptions* options,
                           bool holds_state) const = 0;
  virtual void run_into(SessionState* state, const std::vector<c10::IValue>& args,
                        c10::ArrayRef<at::Tensor> outputs) const = 0;
  // `state` is null if the model has none.
  virtual BoundCall bind(std::shared_ptr<SessionState> state, std::vector<c10::IValue> args,
                         std::vector<at::Tensor> outputs) const = 0;
  virtual c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args,
                                                            const CallOptions& options) const = 0;
  virtual void reserve(const std::vector<c10::IValue>& args, std::size_t runtimes) const = 0;
  // Intra-op threads of each call. 0 keeps the number of the calling thread.
  virtual int intra_op_threads() const = 0;
  virtual void trim() const = 0;
  virtual PoolReport report() const = 0;
  virtual CallMetrics metrics() const = 0;
  virtual pool::PoolMetrics pool_metrics() const = 0;
  // And the report of the runtime that was profiled.
  virtual std::pair<std::vector<ProgramTimes>, Report> profile(const std::vector<c10::IValue>& args,
                                                               double seconds) const = 0;
  // Acts on the runtime that this thread would use.
  virtual void time_steps(bool on) const = 0;
  virtual IndividualMetrics benchmark_individual_ops(const std::vector<c10::IValue>& args,
                                                     Runs runs) const = 0;

  // Replaces the pool in a child process of fork(), because runtimes that other threads of the parent were
  // using would never be returned. Must be called before the other functions.
  void after_fork(unsigned forks) {
    if (forks != forks_.load(std::memory_order_acquire)) renew(forks);
  }

 protected:
  explicit Engine(unsigned forks) : forks_(forks) {}

 private:
  void renew(unsigned forks);
  virtual void replace_pool() = 0;

  std::atomic<unsigned> forks_;
  sr::detail::ForkSafeMutex renewal_;
};

// Calls of the engine as batches make them. Both keep it alive.
BatchModel batch_model(std::shared_ptr<Engine> engine);
BatchPreparation batch_preparation(std::shared_ptr<Engine> engine);

// Throws std::invalid_argument if there is no such planner, and ArgumentError as RuntimePool does.
std::unique_ptr<Engine> make_engine(const StaticModule& module, const std::string& planner,
                                    const RuntimePoolOptions& options);

}  // namespace sr::python
