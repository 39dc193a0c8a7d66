// A benchmark with threads: parallel requests, one runtime a thread, a shared module.
#include <iostream>
#include <set>
#include <span>

#include <ATen/Parallel.h>

#include "../kernels/parallel.hpp"
#include "../output.hpp"
#include "../rounds.hpp"
#include "rivals.hpp"
#include "suite.hpp"

namespace sr::bench {
namespace {

// `light_bound` shares nothing that is written, so it shows what the machine can give at that time.
const std::set<std::string> kShown{"interpreter", "upstream", "sr_general", "sr_replay",
                                   "sr_managed",  "sr_into",  "light_bound"};

Row compare(const Model& model, const Kind& kind, const SuiteOptions& options) {
  std::vector<Rival> rivals;
  for (int i = 0; i < options.threads; ++i) rivals.push_back(kind.make());
  check(model, rivals);
  std::vector<Many> callers;
  for (const Rival& rival : rivals) callers.push_back(rival.many);
  const std::int64_t batch = calls_in(callers[0], 1e-3);
  const double seconds = 20 * options.slice_ms * 1e-3;
  std::vector<double> one, all, one_cpu, all_cpu;
  for (int round = 0; round < options.rounds; ++round) {
    const Rate alone = rate_of(std::span(callers).first(1), batch, seconds),
               together = rate_of(callers, batch, seconds);
    one.push_back(alone.calls_per_second);
    one_cpu.push_back(alone.cpu_ns_per_call);
    all.push_back(together.calls_per_second);
    all_cpu.push_back(together.cpu_ns_per_call);
  }
  return {model.name + ", " + kind.name,
          number(median_of(one)),
          number(median_of(all)),
          number(median_ratio(all, one), 2),
          number(median_of(one_cpu)),
          number(median_of(all_cpu)),
          number(median_ratio(all_cpu, one_cpu), 2)};
}

}  // namespace

void run_threads(const std::vector<Model>& models, const SuiteOptions& options) {
  const std::string threads = std::to_string(options.threads) + " threads";
  std::vector<Row> rows{
      {"", "calls/s, 1 thread", threads, "ratio", "CPU ns a call, 1 thread", threads, "ratio"}};
  for (const Model& model : models) {
    std::cerr << model.name << '\n';
    for (const Kind& kind : kinds_of(model)) {
      if (kShown.contains(kind.name)) rows.push_back(compare(model, kind, options));
    }
  }
  std::cout << "Every thread has its own runtime on one module; medians of " << options.rounds
            << " rounds.\n";
  print_table(std::cout, rows);
}

}  // namespace sr::bench
