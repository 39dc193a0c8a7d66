// Replays the calls of a runtime, and records those for which it has no program.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

#include <sr/base/call_options.hpp>
#include <sr/base/versions.hpp>
#include <sr/executor/call_counters.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/graph/report.hpp>
#include <sr/module/weight_report.hpp>
#include <sr/replay/programs/program_report.hpp>
#include <sr/replay/programs/program_table.hpp>
#include <sr/replay/programs/written_arguments.hpp>
#include <sr/replay/runner/closer_look.hpp>
#include <sr/replay/runner/recordings.hpp>
#include <sr/replay/runner/release_values.hpp>
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
        weights_(std::move(weights)),
        planner_(&planner),
        programs_(planner, content.options.memory.max_plan_bytes),
        services_{&planner, weights_.get(), {}, {}},
        metrics_(&metrics),
        recordings_(content, planner, metrics.misses()),
        closer_look_(content, planner) {
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
    if (on) programs_.forget_times();
  }
  // Turns the names of steps on or off without clearing their times. Returns true if they were on.
  bool name_steps(bool on) { return closer_look_.name_steps(on); }

  std::uint64_t recorded_programs() const { return recordings_.recorded(); }

  std::uint64_t replayed_calls() const { return replayed_; }

  // The program for these arguments, with their addresses in its table of bases; null if there is none.
  [[gnu::always_inline]] Program* find(std::span<const c10::IValue> args) {
    Program* const expected = programs_.lookup_predicted(args);
    return expected != nullptr ? expected : lookup_others(args);
  }

  // See Recordings.
  std::optional<Recording> begin_recording(std::span<const c10::IValue> args, bool at_once) {
    return recordings_.begin(args, at_once, programs_, *weights_);
  }

  // Runs the call as the interpreter would and keeps a program of it. `args` are the arguments, then the
  // variables. Returns the outputs of the graph, or nullopt if the call must run again. Throws what operators
  // throw.
  std::optional<std::vector<c10::IValue>> record(std::span<const c10::IValue> args, const CallOptions* call,
                                                 Recording recording) {
    Recordings::Recorded recorded = recordings_.record(args, call, std::move(recording), *weights_);
    if (recorded.program != nullptr) add_recorded(std::move(recorded.program));
    return std::move(recorded.outputs);
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
    try {
      if (!replay()) return false;
      ++program.replays;
      ++replayed_;
      return true;
    } catch (const Deoptimized& failure) {
      undo();
      recordings_.note_ended();
      has_failed_ = true;
      if (!failure.keep_program) give_up(program, failure.why);
      return false;
    } catch (const CheckFailedError& wrong) {
      undo();
      give_up(program, wrong.msg());
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
    const ReleaseResults release{{program}};
    execute(program, context, args, call);
    c10::IValue result = program.results.build(context, args);
    then(context);
    return program.results.returns_constants ? fresh_copies(*content_, result) : result;
  }

  // Notes that a call is not replayed, because variables of its state share memory.
  void note_shared_state() { has_shared_state_ = true; }

  // Must be called before the program runs. Returns false if a replay must not write one of the arguments
  // that the program writes.
  bool may_write_arguments(Program& program, std::span<const c10::IValue> args) {
    if (program.written_arguments.empty() || enter_written_arguments(program, args)) return true;
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
    const ReleaseValues release{program};
    execute(program, context, args, call);
    then(context);
    return true;
  }

  // Does what run does, or run_into if `outputs` is not null, for a program that writes arguments, or writes
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
  // to do: if a step is not a kernel of sr, if a result is a literal, or if replays are checked or timed.
  // Valid until the program is run or given other sizes.
  FrozenSteps freeze(Program& program) {
    FrozenSteps frozen{{}, context_of(program, nullptr)};
    const bool only_kernels = program.calls + program.interpreted == 0 && programs_.is_shared();
    if (!only_kernels || program.results.has_literals || closer_look_.is_on() || kCheckPlans) return frozen;
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
    const ReleaseValues release{program};
    execute(program, context, args, nullptr);
  }

  // Drops all programs, which hold values and addresses of the old weights.
  void take(std::shared_ptr<const WeightSet> weights) {
    std::uint64_t replays = 0;
    programs_.each_program([&](const Program& program) { replays += program.replays; });
    recordings_.note_changed_weights(programs_.size(), replays);
    ++weight_changes_;
    trim();
    weights_ = std::move(weights);
    services_.weights = weights_.get();
  }

  void trim() {
    programs_ = ProgramTable(*planner_, content_->options.memory.max_plan_bytes);
    recordings_.reset();
    has_families_ = false;
  }

  // For tests of planners that bring their own buffers.
  template <class Visit>
  void each_buffer(const Visit& visit) const {
    programs_.each_buffer(visit);
  }

  void report(Report& report) const {
    programs_.each_program([&](const Program& program) { report.plans.push_back(report_plan(program)); });
    recordings_.report(report);
    if (!why_never_.empty()) report.bailouts.push_back(why_never_);
    if (has_shared_state_) {
      report.bailouts.push_back(
          "Variables of the state share memory or a container, and calls may write one of them in place: "
          "calls are not replayed while they do.");
    }
    closer_look_.report(report);
    if (has_shared_arguments_) {
      report.bailouts.push_back(
          "An argument that the model writes in place shares memory with another argument or with a weight: "
          "such calls are not replayed.");
    }
    if (weight_changes_ != 0) {
      report.bailouts.push_back("The weights have changed " + std::to_string(weight_changes_) +
                                " times; plans made before were dropped, since they hold values of weights.");
    }
    report_weights(*content_->weights->current(), report);
    report.replay_arena_bytes = programs_.shared_bytes();
    report.plan_bytes = programs_.bytes();
    report.replayed_calls = replayed_;
  }

 private:
  [[gnu::always_inline]] Context context_of(Program& program, const CallOptions* call) {
    return {program.bases.data(), &program.values, &program.tensors, call, &services_, program.bases.size()};
  }

  // Finds a program other than the predicted one: of this signature, or of a family, which is then given the
  // sizes of the call.
  [[gnu::noinline]] Program* lookup_others(std::span<const c10::IValue> args) {
    const auto instantiate = [&](Program& program, const SignatureWords& words) {
      return instantiate_for(program, words, *content_, *planner_);
    };
    if (Program* const known = programs_.lookup_linear(args, instantiate)) return known;
    SignatureWords words;
    if ((programs_.size() == 0 && ProgramCopies::is_empty(*weights_)) || !describe_call(args, words))
      return nullptr;
    if (Program* const known = programs_.lookup_hashed(args, words)) return known;
    if (has_families_) {
      if (Program* const made = programs_.lookup_family(args, words, instantiate)) return made;
    }
    if (programs_.is_full()) return nullptr;
    std::unique_ptr<Program> copy = recordings_.copy(words, *weights_);
    if (copy == nullptr) return nullptr;
    add(std::move(copy));
    if (Program* const known = programs_.lookup_hashed(args, words)) return known;
    return has_families_ ? programs_.lookup_family(args, words, instantiate) : nullptr;
  }

  void add(std::unique_ptr<Program> program) {
    program->ran = &services_.ran;
    has_families_ |= program->family != nullptr;
    programs_.add(std::move(program));
  }

  // The call has its result, so a program for which there is no memory is dropped.
  void add_recorded(std::unique_ptr<Program> program) {
    try {
      add(std::move(program));
    } catch (const c10::Error&) {
    } catch (const std::bad_alloc&) {
    }
  }

  void give_up(const Program& program, const std::string& why) {
    recordings_.note_given_up(program, why, *weights_);
    programs_.remove(program);
  }

  [[gnu::noinline]] void undo() { has_lost_state_ |= !services_.undo.undo(); }

  void execute(Program& program, Context& context, std::span<const c10::IValue> args,
               const CallOptions* call) {
    if (kCheckPlans && programs_.is_shared()) programs_.poison();
    if (closer_look_.is_on()) [[unlikely]]
      return closer_look_.run(program, context, args, call, programs_, *weights_);
    StepRunner(programs_).run(program, context, call);
  }

  const PreparedModule* content_;
  std::shared_ptr<const WeightSet> weights_;  // plans hold addresses in it
  const memory::PlannerOps* planner_;
  bool enabled_ = false;
  std::string why_never_;  // the model has no call that may be replayed
  std::uint64_t replayed_ = 0;
  ProgramTable programs_;
  bool has_failed_ = false;
  Services services_;
  sr::detail::CallCounters* metrics_;
  Recordings recordings_;
  CloserLook closer_look_;
  bool has_families_ = false;
  std::vector<c10::IValue> assigned_;
  bool has_lost_state_ = false;
  bool has_shared_state_ = false, has_shared_arguments_ = false;  // some call had
  std::uint64_t weight_changes_ = 0;
};

}  // namespace sr::replay
