// Records calls of a runtime, and makes programs of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/base/events.hpp>
#include <sr/base/identity.hpp>
#include <sr/base/thread_modes.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/executor/misses.hpp>
#include <sr/graph/report.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/weight_set.hpp>
#include <sr/replay/programs/program_builder.hpp>
#include <sr/replay/programs/program_copies.hpp>
#include <sr/replay/programs/program_table.hpp>
#include <sr/replay/runner/family_policy.hpp>
#include <sr/replay/runner/recording_policy.hpp>
#include <sr/replay/trace/exported_sizes.hpp>
#include <sr/replay/trace/recorder.hpp>
#include <sr/replay/trace/separate_arguments.hpp>
#include <sr/replay/trace/signature_text.hpp>

namespace sr::replay {

// How a call is recorded. Other runtimes of the module do not record the same until it is destroyed.
struct Recording {
  std::optional<FamilySignature> family;
  std::optional<SharedPrograms::Claim> claim;
};

// Belongs to one runtime, and is used by one thread at a time. The module, the entry and `misses` must
// outlive it. `weights` are those that the runtime has at the time.
class Recordings {
 public:
  Recordings(const PreparedModule& content, Entry& entry, const memory::PlannerOps& planner, Misses& misses)
      : content_(&content),
        entry_(&entry),
        planner_(&planner),
        shared_(content, planner, entry.block),
        exported_(entry.block == 0 ? content.schema.arguments() : std::vector<c10::Argument>()),
        policy_(content.options.memory.max_plan_bytes),
        misses_(&misses) {}

  // Returns nullopt if this call, for which the table has no program, should not be recorded. If `at_once` is
  // true, a new signature is recorded, too.
  std::optional<Recording> begin(std::span<const c10::IValue> args, bool at_once,
                                 const ProgramTable& programs, const WeightSet& weights) {
    Recording recording;
    const Miss why = prepare(recording, args, at_once, programs, weights);
    if (why == Miss::none) return recording;
    misses_->note(why);
    return std::nullopt;
  }

  struct Recorded {
    // The outputs of the graph. Nullopt if the recording ran on copies and the call must run again.
    std::optional<std::vector<c10::IValue>> outputs;
    std::unique_ptr<Program> program;  // null: there can be none
  };

  // Runs the call as the interpreter would. `numbers` are the inputs by value. Throws what operators throw.
  // `call` may be null.
  Recorded record(std::span<const c10::IValue> args, std::span<const c10::IValue> numbers,
                  const CallOptions* call, Recording recording, const WeightSet& weights) {
    SignatureWords words;
    const bool described = describe_call(args, words);
    std::optional<FamilySignature>& family = recording.family;
    SizeExpressions no_symbols;
    const SizeScope scope(family ? *family->expressions : no_symbols);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    // A separate state, not the program's: arenas of blocks that run on it know its values.
    ExecutionState state(*content_, weights, *planner_);
    state.frame.call = call;
    TraceRecorder recorder(*content_, *entry_, state.frame);
    if (family) recorder.follow(family->words);
    const std::optional<std::vector<c10::IValue>> apart = separate_arguments(*entry_, args);
    Trace trace = recorder.run(apart ? std::span<const c10::IValue>(*apart) : args, numbers);
    trace.keeps_sizes_open = family && family->keeps_sizes_open;
    std::unique_ptr<Program> program;
    entry_->loops_by_data.insert(trace.loops_by_data.begin(), trace.loops_by_data.end());
    if (described && trace.loops_by_data.empty()) program = make_program(trace, words, recording, weights);
    if (apart || trace.answers_otherwise) return {std::nullopt, std::move(program)};
    std::vector<c10::IValue> outputs;
    for (const c10::IValue& result : trace.results) outputs.push_back(with_lists(trace, result));
    if (program != nullptr) {  // which goes on reading its literals
      const std::unordered_set<const void*> literals = literals_of(trace);
      sr::detail::FreshCopies copies(literals);
      for (c10::IValue& output : outputs) output = copies(output);
    }
    // The caller's lists and dictionaries have their elements.
    const auto end = outputs.begin() + static_cast<std::ptrdiff_t>(trace.result_count);
    outputs.erase(end - static_cast<std::ptrdiff_t>(trace.changed_containers.size()), end);
    return {std::move(outputs), std::move(program)};
  }

  // Returns the result with its lists of tensors, see Trace::returned_lists.
  static c10::IValue with_lists(const Trace& trace, const c10::IValue& result) {
    if (trace.returned_lists.empty()) return result;
    if (result.isTensorList()) {
      const auto list = trace.returned_lists.find(result.internalToPointer());
      return list == trace.returned_lists.end() ? result : list->second;
    }
    if (!result.isTuple()) return result;
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : result.toTupleRef().elements())
      elements.push_back(with_lists(trace, element));
    return sr::detail::tuple_of(sr::detail::type_of_tuple(result), std::move(elements));
  }

  // A program that another runtime of the module has recorded for such calls; null if there is none.
  std::unique_ptr<Program> copy(const SignatureWords& words, const WeightSet& weights) {
    if (policy_.refuses(hash_of(words))) return nullptr;
    std::unique_ptr<Program> copy = shared_.find(weights, words);
    if (copy == nullptr || (copy->family != nullptr && families_.refuses(words))) return nullptr;
    ++copied_;
    return copy;
  }

  // Notes that a replay was ended by data, and why the program is given up, if it is.
  void note_ended() { misses_->note(Miss::ended); }
  void note_given_up(const Program& program, const std::string& why, const WeightSet& weights) {
    if (program.family != nullptr) families_.refuse(program.signature);
    tell(Event::Kind::deoptimized,
         [&] { return "The plan for " + described(program.signature) + " was given up. " + why; });
    shared_.withdraw(weights, program);
    policy_.note_bailout(hash_of(program.signature), why, /*is_of_call=*/false);
  }

  // Notes that a program was dropped because data ended its replays: such calls are recorded again later.
  void note_doubted(const Program& program, const std::string& why, const WeightSet& weights) {
    tell(Event::Kind::deoptimized, [&] {
      return "The plan for " + described(program.signature) + " was dropped, since data ended its replays. " +
             why;
    });
    shared_.withdraw(weights, program);
    if (program.family != nullptr) return families_.doubt(program.signature);
    policy_.note_rest(skeleton_of(program.signature), why);
  }

  // Must be called before the runtime takes other weights; see RecordingPolicy::note_changed_weights.
  void note_changed_weights(std::size_t programs, std::uint64_t replays) {
    policy_.note_changed_weights(programs, replays);
    tell(Event::Kind::weights_changed, [&] {
      return "A weight has changed. The plans that hold values of the old weights were dropped: " +
             std::to_string(programs) + ", replayed " + std::to_string(replays) + " times.";
    });
    shared_.forget();
  }

  // Forgets what came so far, but for what the report counts.
  void reset() {
    policy_.reset();
    families_.reset();
  }

  void report(Report& report) const {
    report.bailouts = policy_.reasons();
    report.pinned_by = families_.pinned_by();
    report.misses = misses_->report();
    report.recorded_plans = recorded_;
    report.copied_plans = copied_;
  }

  std::uint64_t recorded() const { return recorded_; }
  // Returns true if no runtime of the module has published a program for other runtimes to copy.
  bool shares_nothing(const WeightSet& weights) const { return shared_.is_empty(weights); }

 private:
  Miss prepare(Recording& recording, std::span<const c10::IValue> args, bool at_once,
               const ProgramTable& programs, const WeightSet& weights) {
    if (ThreadModes::now().autocast()) {
      policy_.note_bailout(
          "The call was made under torch.autocast, which only LibTorch's dispatcher applies.");
      return Miss::autocast;
    }
    SignatureWords words;
    if (!at_once && policy_.is_hopeless(programs.size())) return Miss::hopeless;
    if (!describe_call(args, words)) return at_once ? Miss::none : Miss::arguments;
    if (!at_once && policy_.rests([&] { return skeleton_of(words); })) return Miss::refused;
    const bool has_families = content_->options.debug.enable_families;
    if (has_families) recording.family = families_.note_call(words);
    if (!at_once && !recording.family) {
      const Miss why = policy_.why_not(hash_of(words), programs.is_full(), programs.evictions());
      if (why != Miss::none) return why;
    }
    if (has_families && !recording.family && !families_.refuses(words))
      recording.family = exported_.family_of(words);
    recording.claim = shared_.claim(weights, words);
    return at_once || recording.claim ? Miss::none : Miss::elsewhere;
  }

  std::unique_ptr<Program> make_program(const Trace& trace, const SignatureWords& words, Recording& recording,
                                        const WeightSet& weights) {
    std::unique_ptr<Program> program = build_program(*content_, weights, *planner_, trace);
    if (!weights.holds()) return nullptr;  // some of it may be made of the old values
    if (!program->bailout.empty()) {
      if (recording.family) families_.refuse(words);
      policy_.note_bailout(hash_of(words), program->bailout, trace.bailout_is_of_call);
      tell(Event::Kind::bailed_out,
           [&] { return "Calls with " + described(words) + " are not replayed. " + program->bailout; });
      return nullptr;
    }
    program->serve(words);
    if (recording.family) add_family(*program, std::move(*recording.family));
    if (recording.claim) shared_.publish(weights, *program);
    ++recorded_;
    tell(Event::Kind::recorded, [&] { return described(*program); });
    return program;
  }

  template <class Message>
  void tell(Event::Kind kind, const Message& message) const {
    content_->options.on_event.tell(kind, message);
  }

  std::string described(const SignatureWords& words) const {
    return entry_->name.empty() ? text_of(words) : entry_->name + ", which reads " + text_of(words);
  }
  std::string described(const Program& program) const {
    return "A plan was recorded for " + described(program.signature) + ": " +
           std::to_string(program.kernels) + " kernels of sr, " + std::to_string(program.calls) +
           " operators of LibTorch, " + std::to_string(program.interpreted) + " interpreted nodes.";
  }

  // Makes the program one of a family, unless it holds for the recorded sizes only.
  void add_family(Program& program, FamilySignature signature) {
    auto family = std::make_unique<Family>(std::move(signature));
    if (family->is_pinned())
      return families_.note_pinned(program.signature, family->expressions().pinned_by());
    program.family = std::move(family);
  }

  static std::unordered_set<const void*> literals_of(const Trace& trace) {
    std::unordered_set<const void*> literals;
    for (const TracedTensor& tensor : trace.tensors) {
      if (trace.storages[tensor.storage].home == Home::literal)
        literals.insert(sr::detail::identity_of(tensor.recorded));
    }
    return literals;
  }

  const PreparedModule* content_;
  Entry* entry_;  // learns which loops data end
  const memory::PlannerOps* planner_;
  ProgramCopies shared_;
  ExportedSizes exported_;
  RecordingPolicy policy_;
  FamilyPolicy families_;
  Misses* misses_;
  std::uint64_t recorded_ = 0, copied_ = 0;  // programs
};

}  // namespace sr::replay
