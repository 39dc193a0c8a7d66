// Runs `sr bench` on one model: makes its runners, compares them with the interpreter, and times them in
// turn.
#pragma once

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include <sr/module/prepared_module.hpp>

#include "../inputs/input_sets.hpp"
#include "../progress.hpp"
#include "../timing/open_loop.hpp"
#include "../timing/python_rivals.hpp"
#include "../timing/timing.hpp"
#include "bench_entry.hpp"

namespace sr::tool {

// Calls step(entry), turning an exception into the entry's error; the others go on.
template <class Step>
void attempt(Entry& entry, Step step) {
  if (!entry.error.empty()) return;
  try {
    step(entry);
  } catch (const c10::Error& error) {
    entry.error = error.what_without_backtrace();
  } catch (const std::exception& error) {
    entry.error = error.what();
  }
  if (!entry.error.empty()) entry.callers.clear();
}

// At least two, since a rate needs a gap.
inline std::size_t count_of_arrivals(const BenchOptions& options) {
  constexpr double most = 1 << 26;
  const double wanted =
      options.iters > 0 ? static_cast<double>(options.iters) : std::ceil(options.load.rate * options.seconds);
  if (wanted > most) {
    throw ArgumentError(c10::str("The load is of ", wanted, " arrivals, but at most ", most,
                                 " can be recorded: lower --rate, --seconds or --iters."));
  }
  return static_cast<std::size_t>(std::max(2.0, wanted));
}

class ModelBench {
 public:
  ModelBench(const BenchOptions& options, std::string model) : options_(options), path_(std::move(model)) {
    prepare();
    check();
    warm_up();
    if (options_.load.rate > 0) {
      offer_load();
    } else {
      measure();
    }
    for (Entry& entry : measured_.entries) attempt(entry, [&](Entry& e) { finish(e); });
  }

  bool differs() const {
    return std::ranges::any_of(measured_.entries, [](const Entry& entry) {
      return entry.runner == "sr" && (!entry.error.empty() || !entry.agreement->agrees);
    });
  }

  const Measured& measured() const { return measured_; }

  // Times the rivals that Python has, after all others.
  std::vector<PythonRow> from_python() const {
    if (options_.python_rivals.empty()) return {};
    return time_in_python(path_, sets_, options_.python_rivals, options_.threads, options_.seconds);
  }

 private:
  StaticModuleOptions module_options(bool managed) const {
    StaticModuleOptions chosen;
    chosen.memory.manage_outputs = managed;
    chosen.debug.enable_replay = options_.replay;
    return chosen;
  }

  void prepare() {
    const torch::jit::Module source = load_model(path_);
    fresh_.emplace(source, module_options(false));
    sets_ = input_sets(options_.inputs, fresh_->schema());
    measured_.path = path_;
    measured_.input_sets = sets_.size();
    measured_.is_stream = !options_.inputs.streams.empty();
    try {
      ask_interpreter(source);
    } catch (const std::exception&) {
      // For arguments that do not fit, sr's message is the clearest.
      try {
        make_sr_runner(options_.planners[0], *fresh_)->run(copy_of(0), 0);
      } catch (const ArgumentError&) {
        throw;
      } catch (const std::exception&) {
      }
      throw;
    }
    if (std::ranges::count(options_.outputs, "managed") != 0) managed_.emplace(source, module_options(true));
    for (const std::string& planner : options_.planners) {
      for (const std::string& outputs : options_.outputs) {
        const auto mode =
            static_cast<Outputs>(std::ranges::find(output_names(), outputs) - output_names().begin());
        Entry& entry = measured_.entries.emplace_back();
        entry.runner = "sr";
        entry.planner = planner;
        entry.outputs = mode;
        entry.make = [this, planner, mode] {
          return make_sr_runner(
              planner, module_for(mode), mode,
              {expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(sets_.size())});
        };
      }
    }
    for (const std::string& rival : options_.against) {
      Entry& entry = measured_.entries.emplace_back();
      entry.runner = rival;
      // A separate module, since LibTorch's preparations may change it.
      entry.make = [this, rival] {
        const torch::jit::Module own = load_model(path_);
        return rival == "upstream" ? make_upstream_runner(own) : make_interpreter_runner(own);
      };
    }
  }

  // The expected results of all runs: a model with a state returns something else each time.
  void ask_interpreter(const torch::jit::Module& source) {
    const std::unique_ptr<Runner> oracle = make_interpreter_runner(source);
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        at::manual_seed(options_.inputs.seed);
        c10::IValue result = oracle->run(copy_of(i), i);
        const bool changed = repetition == 0 || !compare(expected_[i], result).agrees;
        expected_.push_back(changed ? result.deepcopy() : expected_[i]);
      }
    }
  }

  // Runners share the module unless the model writes attributes: then each has to start from those in the
  // file.
  StaticModule module_for(Outputs outputs) const {
    const StaticModule& shared = outputs == Outputs::managed ? *managed_ : *fresh_;
    if (shared.content()->self.isNone()) return shared;
    return StaticModule(load_model(path_), shared.options());
  }

  // A deep copy, since the model may write its arguments.
  ArgumentList copy_of(std::size_t set) const {
    ArgumentList copies;
    for (const c10::IValue& value : sets_[set]) copies.push_back(value.deepcopy());
    return copies;
  }

  // Compares three runs of each set: the first allocates tensors, and in the last memory is planned for all
  // sets.
  void check() {
    for (Entry& entry : measured_.entries) {
      attempt(entry, [&](Entry& e) {
        e.callers.push_back(e.make());
        for (int i = 1; i < options_.concurrency; ++i) e.callers.push_back(e.callers[0]->clone());
        Agreement all = compare_runs(*e.callers[0], e.outputs);
        if (!all.agrees && e.runner == "sr" && is_rounding(all, e.callers[0]->report())) {
          all.agrees = true;
          all.rounds = true;
        }
        e.agreement = all;
      });
    }
  }

  Agreement compare_runs(Runner& runner, Outputs outputs) {
    Agreement all;
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      for (std::size_t i = 0; i < sets_.size(); ++i) {
        at::manual_seed(options_.inputs.seed);
        c10::IValue returned = runner.run(copy_of(i), i);
        const bool is_listed = outputs == Outputs::into || outputs == Outputs::bound;
        const c10::IValue& wanted = expected_[static_cast<std::size_t>(repetition) * sets_.size() + i];
        const c10::IValue expected =
            is_listed ? c10::IValue(c10::List<at::Tensor>(tensors_of(wanted))) : wanted;
        const Agreement agreement = compare(expected, runner.outcome(std::move(returned), i));
        if (all.agrees && !agreement.agrees)
          all.difference = c10::str("input set ", i, ", run ", repetition, ": ", agreement.difference);
        all.agrees &= agreement.agrees;
        const auto raise = [](double& largest, double value) {
          if (std::isnan(value) || value > largest) largest = value;
        };
        raise(all.max_abs_diff, agreement.max_abs_diff);
        raise(all.relative, agreement.relative);
      }
    }
    return all;
  }

  // True if a difference is that of activations which a quantized model rounds: a float beside the middle of
  // two integers may be rounded the other way. Then it is small, and there is none with exact numerics.
  bool is_rounding(const Agreement& difference, const std::optional<Report>& report) {
    constexpr double kMost = 0.01;
    if (!(difference.relative <= kMost) || !report) return false;
    const bool multiplies_integers = std::ranges::any_of(report->plans, [](const PlanReport& plan) {
      return std::ranges::any_of(plan.steps, [](const StepReport& step) {
        return step.kind == "packed int8 gemm" || step.kind == "int8 convolution";
      });
    });
    if (!multiplies_integers) return false;
    StaticModuleOptions exact = module_options(false);
    exact.numerics = Numerics::exact;
    const std::unique_ptr<Runner> runner =
        make_sr_runner(options_.planners[0], StaticModule(load_model(path_), exact));
    return compare_runs(*runner, Outputs::fresh).agrees;
  }

  void warm_up() {
    const std::int64_t wanted = options_.warmup >= 0 ? options_.warmup : 50;
    for (Entry& entry : measured_.entries) {
      attempt(entry, [&](Entry& e) { tool::warm_up(e, sets_, wanted, options_.warmup < 0 ? 0.5 : 1e9); });
    }
  }

  // Every round times every runner once, so that changes of the machine's load affect all alike.
  void measure() {
    double slowest = 0;
    for (const Entry& entry : measured_.entries) slowest = std::max(slowest, entry.seconds_per_call);
    const bool by_count = options_.iters > 0;
    const double wanted = by_count ? static_cast<double>(std::min<std::int64_t>(options_.iters, 20))
                                   : options_.seconds / std::max(0.02, 8 * slowest);
    measured_.rounds = static_cast<std::int64_t>(std::clamp(wanted, by_count ? 1.0 : 3.0, 200.0));
    constexpr std::int64_t most_samples = 1 << 22;
    Progress progress("bench");
    for (std::int64_t round = 0; round < measured_.rounds; ++round) {
      progress.show_here("round " + std::to_string(round + 1) + " of " + std::to_string(measured_.rounds));
      Slice slice;
      if (by_count) {
        slice.calls = options_.iters / measured_.rounds + (round < options_.iters % measured_.rounds ? 1 : 0);
        slice.most_samples = static_cast<std::size_t>(slice.calls);
      } else {
        slice.seconds = options_.seconds / static_cast<double>(measured_.rounds);
        slice.most_samples = static_cast<std::size_t>(most_samples / measured_.rounds);
      }
      for (Entry& entry : measured_.entries) {
        attempt(entry, [&](Entry& e) { time_slice(e, sets_, slice, options_.threads); });
      }
    }
  }

  void offer_load() {
    measured_.load = options_.load;
    const auto arrivals = arrival_times(options_.load, count_of_arrivals(options_));
    for (Entry& entry : measured_.entries) {
      attempt(entry, [&](Entry& e) { e.answered = answer(e.callers, sets_, arrivals, options_.threads); });
    }
  }

  void finish(Entry& entry) {
    Runner& runner = *entry.callers[0];
    ArgumentList args;
    entry.allocations = count_allocations(
        4 * sets_.size(), [&](std::size_t i) { args = sets_[i % sets_.size()]; },
        [&](std::size_t i) { return runner.run(std::move(args), i % sets_.size()); });
    entry.arena_bytes = runner.arena_bytes();
    entry.report = runner.report();
    const bool wants_ops = options_.ops && &entry == &measured_.entries[0];
    if (wants_ops) entry.programs = time_steps(runner, sets_, std::max(0.3, 40 * entry.seconds_per_call));
    entry.callers.clear();
    if (wants_ops && entry.programs.empty()) {
      const double round = std::max(entry.seconds_per_call, 1e-7) * static_cast<double>(sets_.size());
      entry.nodes =
          time_nodes(entry.planner, *fresh_, sets_, 20, static_cast<int>(std::clamp(0.3 / round, 5.0, 1e4)));
    }
  }

  static constexpr int kRepetitions = 3;

  const BenchOptions& options_;
  std::string path_;
  std::optional<StaticModule> fresh_, managed_;
  std::vector<ArgumentList> sets_;
  std::vector<c10::IValue> expected_;  // by repetition, then by input set
  Measured measured_;
};

}  // namespace sr::tool
