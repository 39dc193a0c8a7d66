#include "tune.hpp"

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <sr/base/processors.hpp>

#include "../../drawing/tune_plot.hpp"
#include "../../inputs/batches.hpp"
#include "../../inputs/input_sets.hpp"
#include "../../progress.hpp"
#include "../../text_file.hpp"
#include "../../timing/statistics.hpp"
#include "../../timing/timing.hpp"
#include "../bench_entry.hpp"

namespace sr::tool {
namespace {

constexpr int kRounds = 3;

class GemmRunner : public Runner {
 public:
  c10::IValue run(ArgumentList&& args, std::size_t) override {
    const c10::InferenceMode inference;
    return at::mm(args[0].toTensor(), args[1].toTensor());
  }
  std::unique_ptr<Runner> clone() const override { return std::make_unique<GemmRunner>(); }
};

// Measures every setting `kRounds` times, one setting after the other, so that a change of the machine meets
// them all.
class Sweep {
 public:
  // For so many intra-op threads and callers, ready for the sets.
  using Make =
      std::function<std::unique_ptr<Runner>(int threads, int callers, const std::vector<ArgumentList>& sets)>;

  Sweep(const TuneOptions& options, Tuning& tuning, std::vector<ArgumentList> sets, Make make)
      : options_(options), tuning_(tuning), make_(std::move(make)) {
    for (const std::int64_t batch : options.batch) {
      std::vector<ArgumentList>& scaled = sets_.emplace_back();
      for (const ArgumentList& args : sets) scaled.push_back(with_batch(args, batch));
    }
    if (options.batch.empty()) sets_.push_back(std::move(sets));
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      tuning.arguments.push_back(text_of(sets_[i].front()));
      for (const int threads : options.threads) {
        for (const int callers : options.concurrency) {
          TunePoint& point = tuning.points.emplace_back();
          point.batch = options.batch.empty() ? 0 : options.batch[i];
          point.threads = threads;
          point.callers = callers;
        }
      }
    }
    entries_.resize(tuning.points.size());
  }

  void run() {
    const std::size_t settings_of_batch = tuning_.points.size() / sets_.size();
    for (int round = 1; round <= kRounds; ++round) {
      for (std::size_t i = 0; i < tuning_.points.size(); ++i) {
        progress_.show("round " + std::to_string(round) + " of " + std::to_string(kRounds) + ", setting " +
                       std::to_string(i + 1) + " of " + std::to_string(tuning_.points.size()) + ": " +
                       text_of(tuning_.points[i]));
        measure(i, sets_[i / settings_of_batch]);
      }
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Percentiles ranks = percentiles(entries_[i].samples);
      tuning_.points[i].p50_us = 1e-3 * ranks.p50;
      tuning_.points[i].p99_us = 1e-3 * ranks.p99;
      tuning_.points[i].calls_per_s = entries_[i].throughput_calls / entries_[i].throughput_seconds;
    }
  }

 private:
  // Runners are made anew in each round: those of all settings at once may be more than there is memory for.
  void measure(std::size_t i, const std::vector<ArgumentList>& sets) {
    const TunePoint& point = tuning_.points[i];
    at::set_num_threads(point.threads);
    Entry& entry = entries_[i];
    try {
      entry.callers.push_back(make_(point.threads, point.callers, sets));
      warm_up(entry, sets, 50, 0.1 * options_.seconds / kRounds);
    } catch (const c10::Error& error) {
      refuse(point, sets, error.what_without_backtrace());
      throw;
    } catch (const std::exception& error) {
      refuse(point, sets, error.what());
      throw;
    }
    for (int caller = 1; caller < point.callers; ++caller) entry.callers.push_back(entry.callers[0]->clone());
    Slice slice;
    slice.seconds = options_.seconds / kRounds;
    slice.most_samples = 1 << 18;
    time_slice(entry, sets, slice, point.threads);
    entry.callers.clear();
  }

  // If the arguments were given, the model's message says what is wrong.
  static void refuse(const TunePoint& point, const std::vector<ArgumentList>& sets,
                     const std::string& message) {
    if (point.batch == 0) return;
    throw ArgumentError(
        "The model fails with batch " + std::to_string(point.batch) + ", when its arguments are " +
        text_of(sets.front()) +
        ". --batch scales the tensors whose dimension 0 is that of the first argument; "
        "give models that need anything else one --inputs file for each batch. The model says: " +
        message);
  }

  const TuneOptions& options_;
  Tuning& tuning_;
  Make make_;
  std::vector<std::vector<ArgumentList>> sets_;  // by batch
  std::vector<Entry> entries_;                   // as the points
  Progress progress_{"tune"};
};

void sweep_model(const TuneOptions& options, Tuning& tuning) {
  const StaticModule module(load_model(options.model));
  tuning.title = options.model;
  Sweep(options, tuning, input_sets(options.inputs, module.schema()),
        [&](int threads, int callers, const std::vector<ArgumentList>& sets) {
          return make_pool_runner(options.planner, module, threads, static_cast<std::size_t>(callers), sets);
        })
      .run();
}

void sweep_gemm(const TuneOptions& options, Tuning& tuning) {
  const std::string side = std::to_string(options.mm), spec = "f32[" + side + "," + side + "]";
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(options.inputs.seed);
  const ArgumentList factors{random_argument(spec, generator), random_argument(spec, generator)};
  tuning.title = "mm of " + side + " x " + side;
  const auto size = static_cast<double>(options.mm);
  tuning.gigaflops_per_call = 2e-9 * size * size * size;
  Sweep(options, tuning, {factors}, [](int, int, const std::vector<ArgumentList>&) {
    return std::make_unique<GemmRunner>();
  }).run();
}

template <class Number>
void sort_out(std::vector<Number>& counts) {
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
}

}  // namespace

int tune(const TuneOptions& given) {
  TuneOptions options = given;
  Tuning tuning;
  tuning.processors = processors_allowed();
  if (options.threads.empty()) options.threads = counts_to_try(tuning.processors);
  if (options.concurrency.empty())
    options.concurrency = options.model.empty() ? std::vector<int>{1} : counts_to_try(tuning.processors);
  sort_out(options.threads);
  sort_out(options.concurrency);
  sort_out(options.batch);
  if (options.model.empty()) {
    sweep_gemm(options, tuning);
  } else {
    sweep_model(options, tuning);
  }
  print_tuning(std::cout, tuning, options);
  if (!options.json.empty()) write_text(options.json, tuning_json(tuning, options));
  if (!options.plot.empty()) write_text(options.plot, tuning_svg(tuning));
  return 0;
}

}  // namespace sr::tool
