// The seeds' threaded benchmark: requests in parallel, one runtime a thread, the module shared.
#include <ctime>
#include <iostream>
#include <latch>
#include <sched.h>
#include <set>
#include <span>
#include <thread>

#include <ATen/Parallel.h>

#include "output.hpp"
#include "rivals.hpp"
#include "rounds.hpp"
#include "suite.hpp"

namespace sr::bench {
namespace {

// `light_bound` shares nothing that is written: what it reaches is what the machine has to give at that time.
const std::set<std::string> kShown{"interpreter", "upstream", "sr_general", "sr_replay",
                                   "sr_managed",  "sr_into",  "light_bound"};

struct Rate {
  double calls_per_second = 0;  // of all lanes together
  // By the clock of each thread, which stands while others have the processor: it rises only if the lanes
  // are in each other's way.
  double cpu_ns_per_call = 0;
};

double cpu_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Puts the calling thread on a processor of its own as far as there are enough: threads that live for
// milliseconds were seen to stay together on one of two.
void settle(std::size_t lane) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    return set;
  }();
  const int count = CPU_COUNT(&allowed);
  if (count == 0) return;
  auto left = static_cast<int>(lane % static_cast<std::size_t>(count));
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed) || left-- > 0) ++cpu;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof(own), &own);
}

// Each lane on a thread of its own for `seconds`.
Rate rate_of(std::span<const Rival> lanes, std::int64_t batch, double seconds) {
  std::latch ready(static_cast<std::ptrdiff_t>(lanes.size()));
  std::vector<Rate> rates(lanes.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      threads.emplace_back([&, i] {
        settle(i);
        at::set_num_threads(1);  // a property of the calling thread
        lanes[i].many(batch);
        ready.arrive_and_wait();
        const auto start = Clock::now();
        const double cpu = cpu_nanoseconds();
        double calls = 0, taken = 0;
        do {
          lanes[i].many(batch);
          calls += static_cast<double>(batch);
          taken = std::chrono::duration<double>(Clock::now() - start).count();
        } while (taken < seconds);
        rates[i] = {calls / taken, (cpu_nanoseconds() - cpu) / calls};
      });
    }
  }
  Rate all;
  for (const Rate& rate : rates) {
    all.calls_per_second += rate.calls_per_second;
    all.cpu_ns_per_call += rate.cpu_ns_per_call / static_cast<double>(rates.size());
  }
  return all;
}

Row compare(const Model& model, const Kind& kind, const SuiteOptions& options) {
  std::vector<Rival> lanes;
  for (int i = 0; i < options.threads; ++i) lanes.push_back(kind.make());
  check(model, lanes);
  const std::int64_t batch = calls_in(lanes[0].many, 1e-3);
  const double seconds = 20 * options.slice_ms * 1e-3;
  std::vector<double> one, all, one_cpu, all_cpu;
  for (int round = 0; round < options.rounds; ++round) {
    const Rate alone = rate_of(std::span(lanes).first(1), batch, seconds),
               together = rate_of(lanes, batch, seconds);
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
  std::cout << "Every thread has a runtime of its own on one module; medians of " << options.rounds
            << " rounds.\n";
  print_table(std::cout, rows);
}

}  // namespace sr::bench
