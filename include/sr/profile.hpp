// Where the time of replays goes: how long each step takes, with the operators fused into it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/graph/report.hpp>
#include <sr/memory/planner.hpp>
#include <sr/static_runtime.hpp>

namespace sr {

struct StepTime {
  StepReport report;   // `report.label()` is "packed gemm: aten::linear, aten::relu"
  double seconds = 0;  // median over rounds of the means of each, without the readings of the clock
};

// The steps of one program in the order in which they run. The rest of a call is finding the program and
// making the results.
struct ProgramTimes {
  std::string arguments;  // "Float[4, 64]"
  std::string block;      // of whose runs these are the times; empty: of calls
  std::vector<StepTime> steps;

  double total() const {
    return std::accumulate(steps.begin(), steps.end(), 0.0,
                           [](double sum, const StepTime& step) { return sum + step.seconds; });
  }
};

// What a profile is made with. `call` makes some calls; the others are those of StaticRuntime.
struct ProfiledCalls {
  std::function<void()> call;
  std::function<void(bool on)> time_steps;
  std::function<Report()> report;
};

namespace detail {

inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The time that an empty step seems to take.
inline double seconds_of_clock() {
  using Clock = std::chrono::steady_clock;
  std::vector<double> rounds;
  for (int round = 0; round < 15; ++round) {
    constexpr int kReadings = 1000;
    double sum = 0;
    for (int i = 0; i < kReadings; ++i) {
      const Clock::time_point begin = Clock::now(), end = Clock::now();
      sum += std::chrono::duration<double>(end - begin).count();
    }
    rounds.push_back(sum / kReadings);
  }
  return median_of(std::move(rounds));
}

}  // namespace detail

// Calls for about `seconds`, and returns the programs that answered, in the order of the report. Empty where
// no call is replayed. Throws what `call` throws.
inline std::vector<ProgramTimes> profile(const ProfiledCalls& calls, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 15;
  struct TimingEnds {
    const ProfiledCalls& calls;
    ~TimingEnds() { calls.time_steps(false); }
  };
  const std::chrono::duration<double> round_time(seconds / kRounds);
  const double clock = detail::seconds_of_clock();
  std::vector<ProgramTimes> programs;
  std::vector<std::vector<std::vector<double>>> samples;  // by program, step and round
  for (int round = 0; round < kRounds; ++round) {
    calls.time_steps(true);
    const TimingEnds timing{calls};
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(round_time);
    do calls.call();
    while (Clock::now() < end);
    std::size_t used = 0;
    detail::each_plan(calls.report(), [&](const PlanReport& plan, const std::string& block) {
      if (plan.timed_replays == 0) return;
      if (used == programs.size()) {
        samples.emplace_back(plan.steps.size());
        ProgramTimes& program = programs.emplace_back(ProgramTimes{plan.arguments, block, {}});
        for (const StepReport& step : plan.steps) program.steps.push_back({step});
      }
      for (std::size_t i = 0; i < plan.steps.size() && i < samples[used].size(); ++i)
        samples[used][i].push_back(std::max(0.0, plan.steps[i].seconds - clock));
      ++used;
    });
  }
  for (std::size_t p = 0; p < programs.size(); ++p) {
    for (std::size_t i = 0; i < programs[p].steps.size(); ++i)
      programs[p].steps[i].seconds = detail::median_of(samples[p][i]);
  }
  return programs;
}

// Calls the runtime with each list of arguments in turn. Throws ArgumentError and what operators throw.
template <memory::Planner P, class Observer>
std::vector<ProgramTimes> profile(StaticRuntime<P, Observer>& runtime,
                                  const std::vector<std::vector<c10::IValue>>& args_list,
                                  double seconds = 1) {
  for (const std::vector<c10::IValue>& args : args_list) runtime.reserve(args);
  return profile({.call =
                      [&] {
                        for (const std::vector<c10::IValue>& args : args_list) runtime(args);
                      },
                  .time_steps = [&](bool on) { runtime.time_steps(on); },
                  .report = [&] { return runtime.report(); }},
                 seconds);
}

}  // namespace sr
