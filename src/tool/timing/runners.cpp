#include "runners.hpp"

#include <utility>

#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/static/impl.h>
#include <torch/csrc/jit/runtime/static/memory_planner.h>

#include <sr/memory/planners.hpp>
#include <sr/static_runtime.hpp>

namespace sr::tool {
namespace {

template <class P>
class SrRunner : public Runner {
 public:
  explicit SrRunner(StaticRuntime<P> runtime) : runtime_(std::move(runtime)) {}

  c10::IValue run(ArgumentList&& args, std::size_t) override { return runtime_(std::move(args)); }
  void reserve(const ArgumentList& args) override { runtime_.reserve(args); }
  void time_steps(bool on) override { runtime_.time_steps(on); }
  std::unique_ptr<Runner> clone() const override { return std::make_unique<SrRunner>(runtime_.clone()); }
  std::optional<memory::Bytes> arena_bytes() const override {
    const Report report = runtime_.report();
    return report.plans.empty() ? report.arena_bytes : report.replay_arena_bytes;
  }
  std::optional<Report> report() const override { return runtime_.report(); }

 protected:
  StaticRuntime<P> runtime_;
};

// Writes into the same tensors every time.
template <class P>
class IntoRunner : public SrRunner<P> {
 public:
  IntoRunner(StaticRuntime<P> runtime, const std::vector<std::vector<at::Tensor>>& like)
      : SrRunner<P>(std::move(runtime)) {
    for (const std::vector<at::Tensor>& tensors : like) {
      std::vector<at::Tensor>& own = buffers_.emplace_back();
      for (const at::Tensor& tensor : tensors) own.push_back(at::empty_like(tensor));
    }
  }

  c10::IValue run(ArgumentList&& args, std::size_t set) override {
    const ArgumentList values = std::move(args);
    this->runtime_.run_into(values, buffers_[set]);
    return {};
  }
  c10::IValue outcome(c10::IValue, std::size_t set) const override {
    return c10::IValue(c10::List<at::Tensor>(buffers_[set]));
  }
  std::unique_ptr<Runner> clone() const override {
    return std::make_unique<IntoRunner>(this->runtime_.clone(), buffers_);
  }

 private:
  std::vector<std::vector<at::Tensor>> buffers_;  // by input set
};

// A bound call for each input set.
template <class P>
class BoundRunner : public SrRunner<P> {
 public:
  explicit BoundRunner(StaticRuntime<P> runtime) : SrRunner<P>(std::move(runtime)) {}

  c10::IValue run(ArgumentList&& args, std::size_t set) override {
    if (set >= calls_.size()) calls_.resize(set + 1);
    std::optional<BoundCall>& call = calls_[set];
    if (call && is_bound_to(*call, args)) {
      (*call)();
    } else {
      call.reset();
      call.emplace(this->runtime_.bind(std::move(args)));
    }
    return {};
  }
  c10::IValue outcome(c10::IValue, std::size_t set) const override {
    return c10::IValue(c10::List<at::Tensor>(calls_[set]->outputs()));
  }
  std::unique_ptr<Runner> clone() const override {
    return std::make_unique<BoundRunner>(this->runtime_.clone());
  }
  std::optional<Report> report() const override {
    return calls_.empty() || !calls_[0] ? SrRunner<P>::report() : calls_[0]->report();
  }

 private:
  // True if the arguments are the tensors of the call; other values never change.
  static bool is_bound_to(const BoundCall& call, const ArgumentList& args) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (args[i].isTensor() && !args[i].is(call.arguments()[i])) return false;
    }
    return true;
  }

  std::vector<std::optional<BoundCall>> calls_;  // by input set
};

// A caller of a pool; its clones are callers of the same one.
template <class P>
class PoolRunner : public Runner {
 public:
  explicit PoolRunner(std::shared_ptr<const RuntimePool<P>> pool) : pool_(std::move(pool)) {}

  c10::IValue run(ArgumentList&& args, std::size_t) override { return (*pool_)(std::move(args)); }
  std::unique_ptr<Runner> clone() const override { return std::make_unique<PoolRunner>(pool_); }

 private:
  std::shared_ptr<const RuntimePool<P>> pool_;
};

class InterpreterRunner : public Runner {
 public:
  explicit InterpreterRunner(torch::jit::Module frozen) : module_(std::move(frozen)) {}

  // sr and upstream switch autograd off for a call by themselves.
  c10::IValue run(ArgumentList&& args, std::size_t) override {
    const c10::InferenceMode inference;
    return module_.forward(std::move(args));
  }
  std::unique_ptr<Runner> clone() const override { return std::make_unique<InterpreterRunner>(module_); }

 private:
  torch::jit::Module module_;  // thread-safe
};

class UpstreamRunner : public Runner {
 public:
  explicit UpstreamRunner(std::shared_ptr<torch::jit::StaticModule> module)
      : module_(std::move(module)), runtime_(*module_) {}

  c10::IValue run(ArgumentList&& args, std::size_t) override {
    ArgumentList values = std::move(args);  // gone when the call ends, as with the others
    return runtime_(std::move(values));
  }
  std::unique_ptr<Runner> clone() const override { return std::make_unique<UpstreamRunner>(module_); }
  std::optional<memory::Bytes> arena_bytes() const override {
    const torch::jit::MemoryPlanner* planner = runtime_.get_memory_planner();
    return planner == nullptr ? 0 : planner->total_managed();
  }

 private:
  std::shared_ptr<torch::jit::StaticModule> module_;
  torch::jit::StaticRuntime runtime_;
};

}  // namespace

std::string_view name_of(Outputs outputs) {
  switch (outputs) {
    case Outputs::fresh:
      return "fresh";
    case Outputs::managed:
      return "managed";
    case Outputs::into:
      return "into";
    case Outputs::bound:
      return "bound";
  }
  return {};
}

std::unique_ptr<Runner> make_sr_runner(std::string_view planner, const StaticModule& module, Outputs outputs,
                                       const std::vector<c10::IValue>& results) {
  std::vector<std::vector<at::Tensor>> tensors;
  if (outputs == Outputs::into) {
    for (const c10::IValue& result : results) {
      if (tensors.emplace_back(tensors_of(result)).empty()) {
        throw ArgumentError("The model returns no tensor, so there is nothing to write into.");
      }
    }
  }
  return memory::with_planner(planner, [&]<class P>(std::type_identity<P>) -> std::unique_ptr<Runner> {
    StaticRuntime<P> runtime(module);
    if (outputs == Outputs::into) return std::make_unique<IntoRunner<P>>(std::move(runtime), tensors);
    if (outputs == Outputs::bound) return std::make_unique<BoundRunner<P>>(std::move(runtime));
    return std::make_unique<SrRunner<P>>(std::move(runtime));
  });
}

std::unique_ptr<Runner> make_pool_runner(std::string_view planner, const StaticModule& module, int threads,
                                         std::size_t runtimes, const std::vector<ArgumentList>& sets) {
  return memory::with_planner(planner, [&]<class P>(std::type_identity<P>) -> std::unique_ptr<Runner> {
    RuntimePoolOptions options;
    options.intra_op_threads = threads;
    auto pool = std::make_shared<const RuntimePool<P>>(module, options);
    for (const ArgumentList& set : sets) pool->reserve(set, {}, runtimes);
    return std::make_unique<PoolRunner<P>>(std::move(pool));
  });
}

std::unique_ptr<Runner> make_interpreter_runner(const torch::jit::Module& module) {
  torch::jit::Module evaluated = module.clone(/*inplace=*/true);
  evaluated.eval();
  try {
    return std::make_unique<InterpreterRunner>(torch::jit::freeze(evaluated));
  } catch (const std::exception&) {
    return std::make_unique<InterpreterRunner>(evaluated);  // some modules cannot be frozen
  }
}

std::unique_ptr<Runner> make_upstream_runner(const torch::jit::Module& module) {
  const torch::jit::StaticModuleOptions options;
  return std::make_unique<UpstreamRunner>(
      std::make_shared<torch::jit::StaticModule>(module, /*is_frozen=*/false, options));
}

IndividualMetrics time_nodes(std::string_view planner, const StaticModule& module,
                             const std::vector<ArgumentList>& sets, int warmup_runs, int main_runs) {
  return memory::with_planner(planner, [&]<class P>(std::type_identity<P>) {
    return benchmark_individual_ops<P>(module, sets, {}, warmup_runs, main_runs);
  });
}

}  // namespace sr::tool
