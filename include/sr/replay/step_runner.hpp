// Runs the steps of a program.
#pragma once

#include <chrono>
#include <cstddef>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <sr/base/call_options.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/program.hpp>
#include <sr/replay/program_table.hpp>
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
    run(program, context, call, [](std::size_t) {});
  }

  // Calls after(i) when step i is done.
  template <class After>
  void run(Program& program, Context& context, const CallOptions* call, const After& after) const {
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
        program.steps[i].run(*program.steps[i].payload, context);
        after(i);
        for (; dead != program.dead_after.end() && dead->first == i; ++dead)
          program.tensors[dead->second].reset();
      }
    } catch (c10::Error& error) {
      sr::detail::add_place(error, *program.notes->nodes[program.steps[i].node]);
      throw;
    }
  }

  // Adds the time of each step to program.step_seconds.
  void run_timed(Program& program, Context& context, const CallOptions* call) const {
    using Clock = std::chrono::steady_clock;
    program.step_seconds.resize(program.steps.size());
    Clock::time_point begin = Clock::now();
    run(program, context, call, [&](std::size_t i) {
      const Clock::time_point end = Clock::now();
      program.step_seconds[i] += std::chrono::duration<double>(end - begin).count();
      begin = Clock::now();
    });
    ++program.timed_replays;
  }

 private:
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
