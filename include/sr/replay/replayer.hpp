// Records and replays the calls of a runtime.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <sr/base/call_options.hpp>
#include <sr/base/identity.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/graph/report.hpp>
#include <sr/replay/check.hpp>
#include <sr/replay/family_policy.hpp>
#include <sr/replay/program_builder.hpp>
#include <sr/replay/program_copies.hpp>
#include <sr/replay/program_report.hpp>
#include <sr/replay/program_table.hpp>
#include <sr/replay/recording_policy.hpp>
#include <sr/replay/step_runner.hpp>
#include <sr/replay/trace/exported_sizes.hpp>
#include <sr/replay/trace/recorder.hpp>
#include <sr/replay/trace/separate_arguments.hpp>

namespace sr::replay {

// Belongs to one runtime, and is used by one thread at a time. The module must outlive it.
class Replayer {
 public:
  Replayer(const PreparedModule& content, std::shared_ptr<const WeightSet> weights,
           const memory::PlannerOps& planner)
      : content_(&content),
        weights_(std::move(weights)),
        planner_(&planner),
        programs_(planner, content.options.max_plan_bytes),
        shared_(content, planner),
        exported_(content.schema),
        services_{&planner, weights_.get(), {}},
        policy_(content.options.max_plan_bytes) {
    const StaticModuleOptions& options = content.options;
    check_every_ = options.check_every != 0 ? options.check_every : checks_asked_for();
    looks_closer_ = check_every_ != 0;
    enabled_ = options.enable_replay && options.enable_out_variant && options.max_plan_bytes != 0;
    // Also for signatures that do not reach the change: calls of other signatures may, in between.
    if (enabled_ && !content.state_changed_by.empty()) {
      why_never_ = "The model changes an attribute or a constant (" + content.state_changed_by + ").";
      enabled_ = false;
    }
  }

  bool enabled() const { return enabled_; }

  // While on, replays measure how long each step takes, for report(). Switching on clears the times.
  void time_steps(bool on) {
    times_steps_ = on;
    looks_closer_ = on || check_every_ != 0;
    if (on) programs_.forget_times();
  }

  std::uint64_t replayed_calls() const { return replayed_; }

  // The program for these arguments, with their addresses in its table of bases; null if there is none.
  [[gnu::always_inline]] Program* find(std::span<const c10::IValue> args) {
    Program* const expected = programs_.find_expected(args);
    return expected != nullptr ? expected : find_other(args);
  }

  // How a call is recorded. Others do not record the same until it is destroyed.
  struct Recording {
    std::optional<FamilySignature> family;
    std::optional<SharedPrograms::Claim> claim;
  };

  // Nothing: this call, for which there is no program, is not to be recorded. `at_once`: even if its
  // signature is new.
  std::optional<Recording> begin_recording(std::span<const c10::IValue> args, bool at_once) {
    Recording recording;
    const Miss why = prepare(recording, args, at_once);
    if (why == Miss::none) return recording;
    misses_.note(why);
    return std::nullopt;
  }

  // Runs the call as the interpreter would and makes a program of it. Nothing: it ran on copies of arguments,
  // and the call is still to be answered. Throws what operators throw.
  std::optional<c10::IValue> record(std::span<const c10::IValue> args, const CallOptions* call,
                                    Recording recording) {
    SignatureWords words;
    const bool described = describe_call(args, words);
    std::optional<FamilySignature>& family = recording.family;
    SizeExpressions no_symbols;
    const SizeScope scope(family ? *family->expressions : no_symbols);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    // A state of its own, not the program's: arenas of blocks that run on it know its values.
    ExecutionState state(*content_, *weights_, *planner_);
    state.frame.call = call;
    TraceRecorder recorder(*content_, state.frame);
    if (family) recorder.follow(family->words);
    const std::optional<std::vector<c10::IValue>> apart = separate_arguments(*content_, args);
    Trace trace = recorder.run(apart ? std::span<const c10::IValue>(*apart) : args);
    c10::IValue result = sr::detail::join_results(trace.results);
    const auto answer = [&] { return apart ? std::nullopt : std::optional(fresh_copies(result)); };
    if (!described) return answer();
    std::unique_ptr<Program> program = build_program(*content_, *weights_, *planner_, trace);
    if (!weights_->holds()) return answer();  // some of it may be made of the old values
    if (program->bailout.empty()) {
      result = sr::detail::FreshCopies(literals_of(trace))(result);  // the program goes on reading them
      program->serve(words);
      if (family) add_family(*program, std::move(*family));
      if (recording.claim) shared_.publish(*weights_, *program);
      ++recorded_;
      add(std::move(program));
    } else {
      if (family) families_.refuse(words);
      policy_.note_bailout(hash_of(words), program->bailout, trace.bailout_is_of_call);
    }
    return answer();
  }

  // The nodes that a deoptimized replay has run and that must not run twice; null if there are none.
  RanNodes* ran() { return services_.ran.empty() ? nullptr : &services_.ran; }

  // Whether a replay was deoptimized, so that the general path has to answer the call.
  bool has_failed() const { return has_failed_; }
  void forget_failure() { has_failed_ = false; }

  // Calls `replay` for the program. Returns false if the general path has to answer the call after all.
  // Throws what operators throw, and PlanError if a checked replay was wrong.
  template <class Replay>
  bool attempt(Program& program, const Replay& replay) {
    try {
      if (!replay()) return false;
      ++program.replays;
      ++replayed_;
      return true;
    } catch (const Deoptimized& failure) {
      misses_.note(Miss::ended);
      has_failed_ = true;
      if (!failure.keep_program) give_up(program, failure.why);
      return false;
    } catch (const PlanError& wrong) {
      give_up(program, wrong.msg());
      services_.ran.clear();
      throw;
    } catch (...) {
      services_.ran.clear();
      throw;
    }
  }

  // Throws Deoptimized, CancelledError and what operators throw. `call` may be null.
  c10::IValue run(Program& program, std::span<const c10::IValue> args, const CallOptions* call) {
    program.results.prepare(program.bases.data());
    program.set_derived_bases();
    Context context{program.bases.data(), &program.values, &program.tensors, call, &services_};
    const Finish finish{{program}};
    execute(program, context, args, call);
    c10::IValue result = program.results.build(context, args);
    return program.results.returns_constants ? fresh_copies(result) : result;
  }

  // Writes the results into the caller's buffers. Returns false if the buffers or the results do not allow
  // that.
  bool run_into(Program& program, std::span<const c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions* call) {
    if (!program.results.write_into(outputs, program.bases.data(), program.leaf_bytes)) return false;
    program.set_derived_bases();
    Context context{program.bases.data(), &program.values, &program.tensors, call, &services_};
    const ReleaseValues release{program};
    execute(program, context, args, call);
    return true;
  }

  // Makes the buffers the storages of the results. Returns false as run_into does.
  bool bind(Program& program, c10::ArrayRef<at::Tensor> outputs) const {
    if (!program.results.write_into(outputs, program.bases.data(), program.leaf_bytes)) return false;
    program.set_derived_bases();
    return true;
  }
  // The steps of a program on the addresses of this call, if they need nothing else to run: they are sr's
  // kernels, and nobody looks closer. Valid until the program is run or adapted in another way.
  std::vector<Step> frozen_steps(const Program& program) const {
    std::vector<Step> steps;
    const bool only_kernels = program.calls + program.interpreted == 0 && programs_.is_shared();
    if (!only_kernels || looks_closer_ || kCheckPlans) return steps;
    for (Step step : program.steps) {
      if (const RunStep frozen = step.payload->freeze(program.bases.data())) step.run = frozen;
      steps.push_back(step);
    }
    return steps;
  }
  // Runs a program that bind() was called for. `frozen` are its frozen steps; empty: it has none.
  [[gnu::always_inline]] void run_bound(Program& program, const std::vector<Step>& frozen,
                                        std::span<const c10::IValue> args) {
    program.results.copy_literals(program.bases.data());
    Context context{program.bases.data(), &program.values, &program.tensors, nullptr, &services_};
    if (!frozen.empty()) [[likely]] {
      for (const Step& step : frozen) step.run(*step.payload, context);
      return;
    }
    const ReleaseValues release{program};
    execute(program, context, args, nullptr);
  }

  // Drops all programs, which hold values and addresses of the old weights.
  void take(std::shared_ptr<const WeightSet> weights) {
    std::uint64_t replays = 0;
    programs_.each_program([&](const Program& program) { replays += program.replays; });
    policy_.note_changed_weights(programs_.size(), replays);
    ++weight_changes_;
    trim();
    shared_.forget();
    weights_ = std::move(weights);
    services_.weights = weights_.get();
  }

  void trim() {
    programs_ = ProgramTable(*planner_, content_->options.max_plan_bytes);
    policy_.reset();
    families_.reset();
    has_families_ = false;
  }

  // For tests of planners that bring their own buffers.
  template <class Visit>
  void each_buffer(const Visit& visit) const {
    programs_.each_buffer(visit);
  }

  void report(Report& report) const {
    programs_.each_program([&](const Program& program) { report.plans.push_back(report_plan(program)); });
    report.bailouts = policy_.reasons();
    if (!why_never_.empty()) report.bailouts.push_back(why_never_);
    if (unchecked_ != 0) {
      report.bailouts.push_back(
          std::to_string(unchecked_) +
          " replays were not compared with the interpreter, as SR_CHECK asked: they draw random "
          "numbers, which are others each time.");
    }
    if (weight_changes_ != 0) {
      report.bailouts.push_back("The weights have changed " + std::to_string(weight_changes_) +
                                " times; plans made before were dropped, since they hold values of weights.");
    }
    report.replay_arena_bytes = programs_.shared_bytes();
    report.plan_bytes = programs_.bytes();
    report.replayed_calls = replayed_;
    report.misses = misses_.report();
    report.recorded_plans = recorded_;
    report.copied_plans = copied_;
  }

 private:
  // Releases the values of a call, also if an operator throws.
  struct ReleaseValues {
    Program& program;
    [[gnu::always_inline]] ~ReleaseValues() {
      if (program.interpreted != 0) release();
    }
    [[gnu::noinline]] void release() {
      for (c10::IValue& value : program.values) value = c10::IValue();
      for (at::Tensor& tensor : program.tensors) tensor.reset();
      if (std::uncaught_exceptions() == 0) program.ran->clear();  // else the general path may need it
    }
  };
  struct Finish : ReleaseValues {
    ~Finish() { this->program.results.release(); }
  };

  Miss prepare(Recording& recording, std::span<const c10::IValue> args, bool at_once) {
    if (ThreadModes::now().autocast()) {
      policy_.note_bailout("The call was made under autocast, which the interpreter's operators follow.");
      return Miss::autocast;
    }
    SignatureWords words;
    if (!at_once && policy_.is_hopeless(programs_.size())) return Miss::hopeless;
    if (!describe_call(args, words)) return at_once ? Miss::none : Miss::arguments;
    if (content_->options.enable_families) recording.family = families_.note_call(words);
    if (!at_once && !recording.family) {
      const Miss why = policy_.why_not(hash_of(words), programs_.is_full(), programs_.evictions());
      if (why != Miss::none) return why;
    }
    if (content_->options.enable_families && !recording.family && !families_.refuses(words))
      recording.family = exported_.family_of(words);
    recording.claim = shared_.claim(*weights_, words);
    return at_once || recording.claim ? Miss::none : Miss::elsewhere;
  }

  // The search for a program of this signature, or of a family, which then takes the sizes of the call.
  [[gnu::noinline]] Program* find_other(std::span<const c10::IValue> args) {
    SignatureWords words;
    if ((programs_.size() == 0 && shared_.is_empty(*weights_)) || !describe_call(args, words)) return nullptr;
    if (Program* const known = programs_.search(args, words)) return known;
    const auto adapt = [&](Program& program) { return adopt(program, words, *content_, *planner_); };
    if (has_families_) {
      if (Program* const adapted = programs_.adapt(args, words, adapt)) return adapted;
    }
    if (programs_.is_full() || policy_.refuses(hash_of(words))) return nullptr;
    std::unique_ptr<Program> copy = shared_.find(*weights_, words);
    if (copy == nullptr || (copy->family != nullptr && families_.refuses(words))) return nullptr;
    add(std::move(copy));
    ++copied_;
    if (Program* const known = programs_.search(args, words)) return known;
    return has_families_ ? programs_.adapt(args, words, adapt) : nullptr;
  }

  void add(std::unique_ptr<Program> program) {
    program->ran = &services_.ran;
    has_families_ |= program->family != nullptr;
    programs_.add(std::move(program));
  }

  // Makes the program one of a family, unless it holds for the recorded sizes only.
  void add_family(Program& program, FamilySignature signature) {
    auto family = std::make_unique<Family>(std::move(signature));
    if (family->is_pinned()) return families_.refuse(program.signature);
    program.family = std::move(family);
  }

  void give_up(const Program& program, const std::string& why) {
    if (program.family != nullptr) families_.refuse(program.signature);
    const std::uint64_t hash = hash_of(program.signature);
    ProgramCopies::withdraw(*weights_, program);
    programs_.remove(program);
    policy_.note_bailout(hash, why, /*is_of_call=*/false);
  }

  void execute(Program& program, Context& context, std::span<const c10::IValue> args,
               const CallOptions* call) {
    if (kCheckPlans && programs_.is_shared()) programs_.poison();
    if (looks_closer_) [[unlikely]]
      return execute_closely(program, context, args, call);
    StepRunner(programs_).run(program, context, call);
  }

  // Runs a replay that is compared with the interpreter, or whose steps are timed.
  [[gnu::noinline]] void execute_closely(Program& program, Context& context,
                                         std::span<const c10::IValue> args, const CallOptions* call) {
    if (check_every_ != 0 && (program.replays + 1) % check_every_ == 0) {
      if (!program.draws_random_numbers) return run_checked(program, context, args);
      ++unchecked_;
    }
    if (times_steps_) return StepRunner(programs_).run_timed(program, context, call);
    StepRunner(programs_).run(program, context, call);
  }

  void run_checked(Program& program, Context& context, std::span<const c10::IValue> args) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    ExecutionState state(*content_, *weights_, *planner_);
    std::vector<c10::IValue> others;
    for (const c10::IValue& arg : args) others.push_back(moved(arg));
    const Trace trace = TraceRecorder(*content_, state.frame).run(others);
    const ProgramCheck check(program, trace, content_->options.numerics);
    if (programs_.is_shared()) check.poison_arena();
    StepRunner(programs_).run(program, context, /*call=*/nullptr, [&](std::size_t step) {
      if (programs_.is_shared()) check.after(step);
    });
  }

  static std::unordered_set<const void*> literals_of(const Trace& trace) {
    std::unordered_set<const void*> literals;
    for (const TracedTensor& tensor : trace.tensors) {
      if (trace.storages[tensor.storage].home == Home::literal)
        literals.insert(sr::detail::identity_of(tensor.recorded));
    }
    return literals;
  }

  c10::IValue fresh_copies(const c10::IValue& result) const {
    return content_->folded.empty() ? result : sr::detail::FreshCopies(content_->folded)(result);
  }

  const PreparedModule* content_;
  std::shared_ptr<const WeightSet> weights_;  // plans hold addresses in it
  const memory::PlannerOps* planner_;
  bool enabled_ = false;
  std::string why_never_;  // the model has no call that may be replayed
  std::size_t check_every_ = 0;
  bool times_steps_ = false;
  bool looks_closer_ = false;  // a replay may be compared, or its steps timed
  std::uint64_t replayed_ = 0;
  ProgramTable programs_;
  ProgramCopies shared_;
  ExportedSizes exported_;
  bool has_failed_ = false;
  Services services_;
  RecordingPolicy policy_;
  FamilyPolicy families_;
  Misses misses_;
  bool has_families_ = false;
  std::uint64_t unchecked_ = 0;  // replays that were to be compared with the interpreter
  std::uint64_t weight_changes_ = 0;
  std::uint64_t recorded_ = 0, copied_ = 0;  // programs
};

}  // namespace sr::replay
