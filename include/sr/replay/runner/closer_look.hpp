// Replays that are compared with the interpreter, or whose steps are timed and named to LibTorch's profiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <ATen/core/ivalue.h>

#include <sr/graph/report.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/weight_set.hpp>
#include <sr/replay/programs/program_table.hpp>
#include <sr/replay/runner/check.hpp>
#include <sr/replay/runner/checked_replay.hpp>
#include <sr/replay/runner/step_runner.hpp>

namespace sr::replay {

// The module, the entry and the planner must outlive it.
class CloserLook {
 public:
  CloserLook(const PreparedModule& content, const Entry& entry, const memory::PlannerOps& planner)
      : content_(&content),
        entry_(&entry),
        planner_(&planner),
        check_every_(content.options.debug.checks()) {}

  // True if replays have to go through run().
  [[gnu::always_inline]] bool is_on() const { return is_on_; }

  // Turns the names and times of steps on or off. Returns true if they were on.
  bool name_steps(bool on) {
    is_on_ = on || check_every_ != 0;
    return std::exchange(times_steps_, on);
  }

  // Throws what StepRunner and CheckedReplay throw. `call` may be null.
  [[gnu::noinline]] void run(Program& program, Context& context, std::span<const c10::IValue> args,
                             const CallOptions* call, ProgramTable& programs, const WeightSet& weights) {
    if (check_every_ != 0 && (program.replays + 1) % check_every_ == 0) {
      if (!program.draws_random_numbers)
        return CheckedReplay{*content_, *entry_, weights, *planner_, programs}.run(program, context, args);
      ++unchecked_;
    }
    if (times_steps_ && StepRunner::is_timed(program))
      return StepRunner(programs).run_timed(program, context, call);
    StepRunner(programs).run(program, context, call);
  }

  void report(Report& report) const {
    if (unchecked_ == 0) return;
    report.bailouts.push_back(
        std::to_string(unchecked_) +
        " replays were not compared with the interpreter, as SR_CHECK asked: they draw random "
        "numbers, which are others each time.");
  }

 private:
  const PreparedModule* content_;
  const Entry* entry_;
  const memory::PlannerOps* planner_;
  std::size_t check_every_;
  bool times_steps_ = false;
  bool is_on_ = check_every_ != 0;
  std::uint64_t unchecked_ = 0;  // replays that were to be compared with the interpreter
};

}  // namespace sr::replay
