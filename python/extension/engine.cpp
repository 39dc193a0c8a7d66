#include "engine.hpp"

#include <atomic>
#include <mutex>
#include <type_traits>
#include <utility>

#include <sr/base/forks.hpp>
#include <sr/memory/planners.hpp>

namespace sr::python {

namespace {

template <class Planner>
class PoolEngine : public Engine {
 public:
  PoolEngine(const StaticModule& module, const RuntimePoolOptions& options)
      : Engine(sr::detail::forks_so_far()), module_(module), options_(options), pool_(make_pool()) {}

  c10::IValue call(SessionState* state, std::vector<c10::IValue> args, const CallOptions* options,
                   bool holds_state) const override {
    return pool_->call_on(state, std::move(args), nullptr, options, holds_state);
  }

  void run_into(SessionState* state, const std::vector<c10::IValue>& args,
                c10::ArrayRef<at::Tensor> outputs) const override {
    pool_->run_into_on(state, args, outputs);
  }

  BoundCall bind(std::shared_ptr<SessionState> state, std::vector<c10::IValue> args,
                 std::vector<at::Tensor> outputs) const override {
    const IntraOpWidth width(options_.intra_op_threads);
    return StaticRuntime<Planner>(module_.content(), std::move(state))
        .bind(std::move(args), std::move(outputs));
  }

  c10::intrusive_ptr<c10::ivalue::Future> run_async(std::vector<c10::IValue> args,
                                                    const CallOptions& options) const override {
    return pool_->run_async(std::move(args), {}, options);
  }

  void reserve(const std::vector<c10::IValue>& args, std::size_t runtimes) const override {
    pool_->reserve(args, {}, runtimes);
  }

  int intra_op_threads() const override { return options_.intra_op_threads; }
  void trim() const override { pool_->trim(); }
  PoolReport report() const override { return pool_->report(); }
  CallMetrics metrics() const override { return pool_->metrics(); }
  pool::PoolMetrics pool_metrics() const override { return pool_->pool_metrics(); }

  // On its own runtime, whose calls do not count as the pool's.
  std::pair<std::vector<ProgramTimes>, Report> profile(const std::vector<c10::IValue>& args,
                                                       double seconds) const override {
    const IntraOpWidth width(options_.intra_op_threads);
    StaticRuntime<Planner> runtime(module_);
    std::vector<ProgramTimes> programs = sr::profile(runtime, {args}, seconds);
    return {std::move(programs), runtime.report()};
  }

  void time_steps(bool on) const override { pool_->lease()->time_steps(on); }

  IndividualMetrics benchmark_individual_ops(const std::vector<c10::IValue>& args, Runs runs) const override {
    return sr::benchmark_individual_ops<Planner>(module_, {args}, {}, runs.warmup, runs.timed);
  }

 private:
  std::unique_ptr<RuntimePool<Planner>> make_pool() const {
    return std::make_unique<RuntimePool<Planner>>(module_, options_);
  }

  // The old pool is abandoned: its locks and runtimes may belong to threads that no longer exist. OpenMP's
  // threads do not exist either, and libgomp would wait for them.
  void replace_pool() override {
    options_.intra_op_threads = 1;
    [[maybe_unused]] const auto* const left = pool_.release();
    pool_ = make_pool();
  }

  StaticModule module_;
  RuntimePoolOptions options_;
  std::unique_ptr<RuntimePool<Planner>> pool_;
};

}  // namespace

void Engine::renew(unsigned forks) {
  const std::scoped_lock lock(renewal_);
  if (forks == forks_.load(std::memory_order_relaxed)) return;  // another thread was first
  replace_pool();
  forks_.store(forks, std::memory_order_release);
}

BatchModel batch_model(std::shared_ptr<Engine> engine) {
  return [engine = std::move(engine)](SessionState* state, std::vector<c10::IValue> args,
                                      const CallOptions& given) {
    return engine->call(state, std::move(args), given.trace == nullptr ? nullptr : &given,
                        /*holds_state=*/state != nullptr);
  };
}

BatchPreparation batch_preparation(std::shared_ptr<Engine> engine) {
  return [engine = std::move(engine)](const std::vector<c10::IValue>& args) { engine->reserve(args, 1); };
}

std::unique_ptr<Engine> make_engine(const StaticModule& module, const std::string& planner,
                                    const RuntimePoolOptions& options) {
  return memory::with_planner(planner,
                              [&]<class Planner>(std::type_identity<Planner>) -> std::unique_ptr<Engine> {
                                return std::make_unique<PoolEngine<Planner>>(module, options);
                              });
}

}  // namespace sr::python
