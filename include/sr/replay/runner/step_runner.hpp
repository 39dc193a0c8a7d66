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
#include <sr/replay/steps/workspace.hpp>

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
    if (program.calls + program.interpreted == 0 && program.image_loops.empty() && !may_stop &&
        programs_->is_shared()) {
      for (const Step& step : program.steps) step.run(*step.payload, context);
      return;
    }
    run_in_modes(program, context, call);
  }

  [[gnu::noinline]] void run_in_modes(Program& program, Context& context, const CallOptions* call) const {
    run(
        program, context, call, [](std::size_t, const auto& step) { step(); },
        [&](const ImageLoop& loop) { return run_on_threads(program, loop, context, call); });
  }

  // Calls around(i, run) for step i, which has to call run(). `is_done` is for each_step.
  template <class Around, class IsDone = decltype([](const ImageLoop&) { return false; })>
  void run(Program& program, Context& context, const CallOptions* call, const Around& around,
           const IsDone& is_done = {}) const {
    const bool may_stop = call != nullptr && call->can_be_cancelled();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    const EndHooks end{*programs_};
    std::size_t running = 0;
    auto dead = program.dead_after.begin();
    try {
      each_step(program.image_loops, program.steps.size(), context.bases, is_done, [&](std::size_t i) {
        running = i;
        if (may_stop) call->check();
        if (!programs_->is_shared()) {
          if (i == 0) programs_->buffer().begin_run();
          programs_->buffer().begin_step(static_cast<memory::StepIndex>(i));
        }
        around(i, [&] { program.steps[i].run(*program.steps[i].payload, context); });
        for (; dead != program.dead_after.end() && dead->first == i; ++dead)
          program.tensors[dead->second].reset();
      });
    } catch (c10::Error& error) {
      sr::detail::add_place(error, *program.notes->nodes[program.steps[running].node]);
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
  // Lets threads share the images of the loop. Returns false, having done nothing, if they do not.
  static bool run_on_threads(const Program& program, const ImageLoop& loop, const Context& context,
                             const CallOptions* call) {
    if (loop.shares.count() < 2 || intra_op_threads() == 1) return false;
    const bool may_stop = call != nullptr && call->can_be_cancelled();
    loop.shares.each([&](std::int64_t image, std::int64_t end) {
      Workspace& workspace = Workspace::of_thread();
      Context own = context;
      own.bases = workspace.copy_of(context.bases, context.base_count);
      constexpr std::size_t kLine = 64;
      const std::size_t arena = (program.layout.total + kLine - 1) / kLine * (kLine / sizeof(float));
      float* const memory = workspace.floats(arena + program.scratch_floats);
      for (const ImageLoop::Own& each : loop.own)
        own.bases[each.storage] = reinterpret_cast<std::byte*>(memory) + program.layout.offsets[each.request];
      own.bases[program.scratch_storage] = reinterpret_cast<std::byte*>(memory + arena);
      loop.move(own.bases, image);
      for (; image < end; ++image) {
        for (std::size_t i = loop.first; i < loop.end; ++i) {
          if (may_stop) call->check();
          program.steps[i].run(*program.steps[i].payload, own);
        }
        loop.move(own.bases, 1);
      }
    });
    return true;
  }

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
