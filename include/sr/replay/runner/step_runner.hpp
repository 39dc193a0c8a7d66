// Runs the steps of a program.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>

#include <sr/base/call_options.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/programs/program.hpp>
#include <sr/replay/programs/program_report.hpp>
#include <sr/replay/programs/program_table.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// Runs the program that the table found last. Functions throw what operators throw, with the node's place
// added, Deoptimized, and CancelledError. `call` may be null.
class StepRunner {
 public:
  explicit StepRunner(ProgramTable& programs) : programs_(&programs) {}

  // Inlined, but for programs with other steps than kernels and for calls that may be cancelled.
  [[gnu::always_inline]] void run(Program& program, Context& context, const CallOptions* call) const {
    const bool may_stop = call != nullptr && call->can_be_cancelled();
    // Our kernels read no thread-local modes, and shared memory has no hooks.
    if (program.calls + program.interpreted == 0 && !may_stop && programs_->is_shared()) {
      for (const Step& step : program.steps) step.run(*step.payload, context);
      return;
    }
    run_in_modes(program, context, call);
  }

  [[gnu::noinline]] void run_in_modes(Program& program, Context& context, const CallOptions* call) const {
    run(program, context, call, [](std::size_t, const auto& step) { step(); });
  }

  // Calls around(i, run) for step i, which has to call run().
  template <class Around>
  void run(Program& program, Context& context, const CallOptions* call, const Around& around) const {
    const bool may_stop = call != nullptr && call->can_be_cancelled();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    const EndHooks end{*programs_};
    std::size_t i = 0;
    auto dead = program.dead_after.begin();
    try {
      for (; i < program.steps.size(); ++i) {
        if (may_stop) call->check();
        if (!programs_->is_shared()) {
          if (i == 0) programs_->buffer().begin_run();
          programs_->buffer().begin_step(static_cast<memory::StepIndex>(i));
        }
        around(i, [&] { program.steps[i].run(*program.steps[i].payload, context); });
        for (; dead != program.dead_after.end() && dead->first == i; ++dead)
          program.tensors[dead->second].reset();
      }
    } catch (c10::Error& error) {
      sr::detail::add_place(error, *program.notes->nodes[program.steps[i].node]);
      throw;
    }
  }

  // True if the next replay is to be timed, while steps are: all are but those of programs whose steps are
  // about as short as the reading of a clock. A profiler sees all.
  static bool is_timed(Program& program) {
    if (program.untimed_replays == 0 || listener()) return true;
    --program.untimed_replays;
    return false;
  }

  // Adds the time of each step to program.step_seconds, and opens a range for it in LibTorch's profiler.
  void run_timed(Program& program, Context& context, const CallOptions* call) const {
    using Clock = std::chrono::steady_clock;
    program.step_seconds.resize(program.steps.size());
    const bool is_profiled = listener();
    const Clock::time_point start = Clock::now();
    Clock::time_point begin = start;
    run(program, context, call, [&](std::size_t i, const auto& step) {
      if (is_profiled) {
        run_in_range(program, i, step);
      } else {
        step();
      }
      const Clock::time_point end = Clock::now();
      program.step_seconds[i] += std::chrono::duration<double>(end - begin).count();
      begin = Clock::now();
    });
    ++program.timed_replays;
    const bool is_short = begin - start < kShortStep * program.steps.size();
    program.untimed_replays = is_short ? kUntimed : 0;
  }

 private:
  static constexpr std::chrono::nanoseconds kShortStep{500};
  static constexpr std::uint32_t kUntimed = 7;  // replays after one that was timed

  static bool listener() { return at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE).has_value(); }

  template <class Run>
  static void run_in_range(const Program& program, std::size_t i, const Run& run) {
    at::RecordFunction range(at::RecordScope::USER_SCOPE);
    if (range.isActive()) range.before("sr: " + name_step(program, i).label());
    run();
  }

  // Tells a planner's own buffer that a run has ended, also if it threw.
  struct EndHooks {
    ProgramTable& programs;
    ~EndHooks() {
      if (!programs.is_shared()) programs.buffer().end_run();
    }
  };

  ProgramTable* programs_;
};

}  // namespace sr::replay
