// Replays the calls of a runtime, and records those for which it has no program.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sr/base/call_options.hpp>
#include <sr/base/versions.hpp>
#include <sr/executor/call_counters.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/graph/report.hpp>
#include <sr/module/weight_report.hpp>
#include <sr/replay/programs/written_arguments.hpp>
#include <sr/replay/runner/closer_look.hpp>
#include <sr/replay/runner/release_values.hpp>
#include <sr/replay/runner/replayed_blocks.hpp>
#include <sr/replay/runner/runtime_programs.hpp>
#include <sr/replay/runner/step_runner.hpp>

namespace sr::replay {

// Belongs to one runtime, and is used by one thread at a time. The module and `metrics` must outlive it.
class Replayer {
  struct Nothing {
    void operator()(const Context&) const {}
  };

 public:
  Replayer(const PreparedModule& content, std::shared_ptr<const WeightSet> weights,
           const memory::PlannerOps& planner, sr::detail::CallCounters& metrics)
      : content_(&content),
        entry_(Entry::of_call(content)),
        blocks_(content, weights, planner),
        services_{&planner, weights.get(), {}, {}, &blocks_, {}},
        programs_(content, entry_, std::move(weights), planner, metrics.misses(), services_.ran),
        metrics_(&metrics),
        closer_look_(content, entry_, planner) {
    const StaticModuleOptions& options = content.options;
    enabled_ =
        options.debug.enable_replay && options.debug.enable_out_variant && options.memory.max_plan_bytes != 0;
    // Also for signatures that do not reach the change: calls of other signatures may, in between.
    if (enabled_ && !content.state_changed_by.empty()) {
      why_never_ = "The model changes an attribute or a constant (" + content.state_changed_by +
                   "), so that no call is replayed.";
      enabled_ = false;
    }
  }

  bool enabled() const { return enabled_; }

  // While on, replays measure how long each step takes, for report(), and name the steps to LibTorch's
  // profiler. Switching on clears the times.
  void time_steps(bool on) {
    name_steps(on);
    if (!on) return;
    programs_.table().forget_times();
    blocks_.time_steps(on, /*forgets=*/true);
  }
  // Turns the names of steps on or off without clearing their times. Returns true if they were on.
  bool name_steps(bool on) {
    blocks_.time_steps(on, /*forgets=*/false);
    return closer_look_.name_steps(on);
  }

  std::uint64_t recorded_programs() const { return programs_.recorded(); }

  std::uint64_t replayed_calls() const { return replayed_; }

  // The program for these arguments, with their addresses in its table of bases; null if there is none.
  [[gnu::always_inline]] Program* find(std::span<const c10::IValue> args) { return programs_.find(args); }

  // See Recordings.
  std::optional<Recording> begin_recording(std::span<const c10::IValue> args, bool at_once) {
    return programs_.begin_recording(args, at_once);
  }

  // See RuntimePrograms.
  std::optional<std::vector<c10::IValue>> record(std::span<const c10::IValue> args, const CallOptions* call,
                                                 Recording recording) {
    return programs_.record(args, {}, call, std::move(recording));
  }

  // The nodes that a deoptimized replay has run and that must not run twice; null if there are none.
  RanNodes* ran() { return services_.ran.empty() ? nullptr : &services_.ran; }

  // True if a replay was deoptimized, so that the general path has to answer the call.
  bool has_failed() const { return has_failed_; }
  void forget_failure() { has_failed_ = false; }

  // Calls `replay` for the program. Returns false if the general path has to answer the call after all.
  // Throws what operators throw, and CheckFailedError if a checked replay was wrong.
  template <class Replay>
  [[gnu::always_inline]] bool attempt(Program& program, const Replay& replay) {
    if (program.may_draw_again) [[unlikely]]
      services_.generator.keep();
    try {
      if (!replay()) return false;
      ++program.replays;
      ++replayed_;
      return true;
    } catch (const Deoptimized& failure) {
      undo();
      if (program.may_draw_again) services_.generator.restore();
      has_failed_ = true;
      programs_.note_ended(program, failure);
      return false;
    } catch (const CheckFailedError& wrong) {
      undo();
      programs_.give_up(program, wrong.msg());
      services_.ran.clear();
      metrics_->note_failure();
      throw;
    } catch (...) {
      undo();
      services_.ran.clear();
      metrics_->note_failure();
      throw;
    }
  }

  // Runs the steps, makes the results, and calls then(context). Throws Deoptimized, CancelledError and what
  // operators throw. `call` may be null.
  template <class Then = Nothing>
  c10::IValue run(Program& program, std::span<const c10::IValue> args, const CallOptions* call,
                  const Then& then = {}) {
    program.results.prepare(program.bases.data());
    program.set_derived_bases();
    Context context = context_of(program, call);
    const EndOfBlocks end{blocks_};
    const ReleaseResults release{{program}};
    execute(program, context, args, call);
    c10::IValue result = program.results.build(context, args);
    then(context);
    if (!program.results.returns_constants) return result;
    return fresh_copies(
        *content_, [&](std::size_t i) -> const c10::IValue& { return args[i]; }, result);
  }

  // Notes that a call is not replayed, because variables of its state share memory.
  void note_shared_state() { has_shared_state_ = true; }

  // Must be called before the program runs. Returns true if a replay may write the tensors, lists and
  // dictionaries of the arguments that the program changes. Returns false if one of them aliases something
  // else.
  bool may_change_arguments(Program& program, std::span<const c10::IValue> args) {
    if (!program.changes_arguments ||
        (!repeats_changed_container(program, args) && enter_written_arguments(program, args)))
      return true;
    has_shared_arguments_ = true;
    return false;
  }

  // Returns true once if the last call threw after writes to variables that could not be undone.
  bool has_lost_state() { return std::exchange(has_lost_state_, false); }
  // Returns the values that the last call assigned to variables, once.
  std::vector<c10::IValue> take_assigned() { return std::exchange(assigned_, {}); }

  // Writes the results into the caller's buffers. Returns false if the buffers or the results do not allow
  // that.
  template <class Then = Nothing>
  bool run_into(Program& program, std::span<const c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions* call, const Then& then = {}) {
    if (!program.results.write_into(outputs, program.bases.data(), program.leaf_bytes)) return false;
    program.set_derived_bases();
    sr::detail::count_writes(outputs);
    Context context = context_of(program, call);
    const EndOfBlocks end{blocks_};
    const ReleaseValues release{program};
    execute(program, context, args, call);
    then(context);
    return true;
  }

  // Does what run does, or run_into if `outputs` is not null, for a program that changes arguments, or writes
  // or assigns variables. The assigned values are then in take_assigned().
  bool run_with_state(Program& program, std::span<const c10::IValue> args,
                      const c10::ArrayRef<at::Tensor>* outputs, const CallOptions* call,
                      c10::IValue& result) {
    const ReleaseState release{program};
    program.assigned.prepare(program.bases.data());
    // The general path repeats a call that data end. An argument must then be as it was.
    services_.undo.begin(/*keep_all=*/program.may_end_behind_write && !program.written_arguments.empty());
    program.log_leaves(services_.undo);
    const auto take = [&](Context& context) { assigned_ = program.assigned.build_all(context, args); };
    if (outputs == nullptr) {
      result = run(program, args, call, take);
    } else if (!run_into(program, args, *outputs, call, take)) {
      services_.undo.clear();
      return false;
    }
    services_.undo.clear();
    return true;
  }

  // Makes the buffers the storages of the results. Returns false as run_into does.
  bool bind(Program& program, c10::ArrayRef<at::Tensor> outputs) const {
    if (!program.results.write_into(outputs, program.bases.data(), program.leaf_bytes)) return false;
    program.set_derived_bases();
    return true;
  }
  // Returns the steps of a program bound to the addresses of this call. Returns no steps if a call has more
  // to do: if a step is not a kernel of sr, if images are computed one by one, if a result is a literal, or
  // if replays are checked or timed. Valid until the program is run or given other sizes.
  FrozenSteps freeze(Program& program) {
    FrozenSteps frozen{{}, context_of(program, nullptr)};
    const bool only_kernels = program.calls + program.interpreted == 0 && programs_.table().is_shared();
    if (!only_kernels || !program.image_loops.empty() || program.results.has_literals ||
        closer_look_.is_on() || kCheckPlans)
      return frozen;
    for (Step step : program.steps) {
      if (const RunStep fixed = step.payload->freeze(program.bases.data())) step.run = fixed;
      frozen.steps.push_back(step);
    }
    return frozen;
  }
  // Runs a program that bind() and freeze() were called for.
  [[gnu::always_inline]] void run_bound(Program& program, FrozenSteps& frozen,
                                        std::span<const c10::IValue> args) {
    if (!frozen.steps.empty()) [[likely]] {
      for (const Step& step : frozen.steps) step.run(*step.payload, frozen.context);
      return;
    }
    program.results.copy_literals(program.bases.data());
    Context context = context_of(program, nullptr);
    const EndOfBlocks end{blocks_};
    const ReleaseValues release{program};
    execute(program, context, args, nullptr);
  }

  // Drops all programs, which hold values and addresses of the old weights.
  void take(std::shared_ptr<const WeightSet> weights) {
    services_.weights = weights.get();
    blocks_.take(weights);
    programs_.take(std::move(weights));
  }
  void trim() {
    programs_.trim();
    blocks_.trim();
  }

  // For tests of planners that bring their own buffers.
  template <class Visit>
  void each_buffer(const Visit& visit) const {
    programs_.table().each_buffer(visit);
  }

  void report(Report& report) const {
    programs_.report(report);
    blocks_.report(report);
    if (!why_never_.empty()) report.bailouts.push_back(why_never_);
    if (has_shared_state_) {
      report.bailouts.push_back(
          "Variables of the state share memory or a container, and calls may write one of them in place: "
          "calls are not replayed while they do.");
    }
    closer_look_.report(report);
    if (has_shared_arguments_) {
      report.bailouts.push_back(
          "An argument that the model writes in place shares memory with another argument or with a weight, "
          "or a list or dictionary that it changes is given twice: such calls are not replayed.");
    }
    report_weights(*content_->weights->current(), report);
    report.replayed_calls = replayed_;
  }

 private:
  struct EndOfBlocks {
    ReplayedBlocks& blocks;
    [[gnu::always_inline]] ~EndOfBlocks() { blocks.end_call(); }
  };

  [[gnu::always_inline]] Context context_of(Program& program, const CallOptions* call) {
    return {program.bases.data(), &program.values, &program.tensors, call, &services_, program.bases.size()};
  }

  [[gnu::noinline]] void undo() { has_lost_state_ |= !services_.undo.undo(); }

  void execute(Program& program, Context& context, std::span<const c10::IValue> args,
               const CallOptions* call) {
    ProgramTable& table = programs_.table();
    if (kCheckPlans && table.is_shared()) table.poison();
    if (closer_look_.is_on()) [[unlikely]]
      return closer_look_.run(program, context, args, call, table, *programs_.weights());
    StepRunner(table).run(program, context, call);
  }

  const PreparedModule* content_;
  bool enabled_ = false;
  std::string why_never_;  // the model has no call that may be replayed
  std::uint64_t replayed_ = 0;
  bool has_failed_ = false;
  Entry entry_;
  ReplayedBlocks blocks_;
  Services services_;
  RuntimePrograms programs_;  // which refers to services_
  sr::detail::CallCounters* metrics_;
  CloserLook closer_look_;
  std::vector<c10::IValue> assigned_;
  bool has_lost_state_ = false;
  bool has_shared_state_ = false, has_shared_arguments_ = false;  // some call had
};

}  // namespace sr::replay
