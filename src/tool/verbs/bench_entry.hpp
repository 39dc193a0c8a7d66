// The measurements of `sr bench` for one model, as a table and as JSON.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "../timing/allocations.hpp"
#include "../timing/runners.hpp"
#include "../timing/step_times.hpp"
#include "bench.hpp"

namespace sr::tool {

// One line of the table: a runner of one model, what it is and what was measured.
struct Entry {
  std::string runner;  // sr, interpreter, upstream
  std::string planner;
  Outputs outputs = Outputs::fresh;
  std::function<std::unique_ptr<Runner>()> make;

  std::vector<std::unique_ptr<Runner>> callers;  // one for each concurrent caller
  // The input sets of each caller: reference counts of shared tensors would move between their caches. Made
  // when the entry is timed.
  std::vector<std::vector<ArgumentList>> arguments;
  std::string error;
  std::optional<Agreement> agreement;
  std::optional<AllocationCounts> allocations;
  std::optional<Report> report;
  std::optional<memory::Bytes> arena_bytes;
  std::vector<ProgramTimes> programs;      // with --ops, of calls that are replayed
  std::optional<IndividualMetrics> nodes;  // with --ops, of calls that are not
  std::vector<float> samples;              // nanoseconds of single calls
  std::vector<double> round_medians;       // nanoseconds
  double throughput_calls = 0, throughput_seconds = 0;
  double seconds_per_call = 0;       // from warming up
  std::optional<Answered> answered;  // of an open loop, in place of samples and throughput
};

// The bounds with which the arena is compared: those of the largest replay plan if calls are replayed, else
// those of the general path.
inline memory::Bytes lower_bound_of(const Report& report) {
  memory::Bytes most = report.plans.empty() ? report.lower_bound_bytes : 0;
  for (const PlanReport& plan : report.plans) most = std::max(most, plan.memory.lower_bound);
  return most;
}
inline memory::Bytes no_reuse_of(const Report& report) {
  memory::Bytes most = report.plans.empty() ? report.no_reuse_bytes : 0;
  for (const PlanReport& plan : report.plans) most = std::max(most, plan.memory.no_reuse);
  return most;
}

struct Measured {
  std::string path;
  std::vector<Entry> entries;
  std::size_t input_sets = 0;
  bool is_stream = false;  // their sizes vary
  std::int64_t rounds = 0;
  std::optional<Load> load;  // of an open loop
};

// The table, and a line for each runner that failed or differs (bench_table.cpp).
void print_table(std::ostream& out, const Measured& measured);

// One object a runner, appended to `results`, and what the whole run has in common (bench_record.cpp).
void add_results(nlohmann::ordered_json& results, const Measured& measured, const BenchOptions& options);
nlohmann::ordered_json context_of(const BenchOptions& options);

}  // namespace sr::tool
