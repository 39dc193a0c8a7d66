// The programs of one runtime: which one serves a call, and where they come from.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

#include <sr/base/call_options.hpp>
#include <sr/executor/misses.hpp>
#include <sr/graph/report.hpp>
#include <sr/replay/programs/program_report.hpp>
#include <sr/replay/programs/program_table.hpp>
#include <sr/replay/runner/recordings.hpp>

namespace sr::replay {

// Belongs to one runtime, and is used by one thread at a time. The module, the entry, `misses` and `ran`, the
// nodes that a deoptimized replay has run, must outlive it.
class RuntimePrograms {
 public:
  RuntimePrograms(const PreparedModule& content, Entry& entry, std::shared_ptr<const WeightSet> weights,
                  const memory::PlannerOps& planner, Misses& misses, RanNodes& ran)
      : content_(&content),
        weights_(std::move(weights)),
        planner_(&planner),
        table_(planner, content.options.memory.max_plan_bytes),
        recordings_(content, entry, planner, misses),
        ran_(&ran) {}

  ProgramTable& table() { return table_; }
  const ProgramTable& table() const { return table_; }
  const std::shared_ptr<const WeightSet>& weights() const { return weights_; }  // that the programs hold
  std::uint64_t recorded() const { return recordings_.recorded(); }

  // The program for these arguments, with their addresses in its table of bases; null if there is none.
  [[gnu::always_inline]] Program* find(std::span<const c10::IValue> args) {
    Program* const expected = table_.lookup_predicted(args);
    return expected != nullptr ? expected : lookup_others(args);
  }

  // See Recordings.
  std::optional<Recording> begin_recording(std::span<const c10::IValue> args, bool at_once) {
    return recordings_.begin(args, at_once, table_, *weights_);
  }

  // Runs the call as the interpreter would and keeps a program of it. `args` are the arguments, then the
  // variables; `numbers` are the inputs by value. Returns the outputs of the block, or nullopt if the call
  // must run again. Throws what operators throw.
  std::optional<std::vector<c10::IValue>> record(std::span<const c10::IValue> args,
                                                 std::span<const c10::IValue> numbers,
                                                 const CallOptions* call, Recording recording) {
    Recordings::Recorded recorded = recordings_.record(args, numbers, call, std::move(recording), *weights_);
    if (recorded.program != nullptr) add_recorded(std::move(recorded.program));
    return std::move(recorded.outputs);
  }

  // Notes that a replay was deoptimized. Drops the program at once, or after several deoptimized replays in a
  // row, or never, as `failure` says.
  void note_ended(Program& program, const Deoptimized& failure) {
    recordings_.note_ended();
    if (failure.program == Deoptimized::Program::kept) return;
    if (failure.program == Deoptimized::Program::dropped) return give_up(program, failure.why);
    constexpr std::uint32_t kMostInRow = 4;
    if (program.replays != program.replays_before_end) program.ended_in_row = 0;
    program.replays_before_end = program.replays;
    if (++program.ended_in_row < kMostInRow) return;
    recordings_.note_doubted(program, failure.why, *weights_);
    table_.remove(program);
  }
  // Drops the program, so that its signature is not replayed any more.
  void give_up(const Program& program, const std::string& why) {
    recordings_.note_given_up(program, why, *weights_);
    table_.remove(program);
  }

  // Drops all programs, which hold values and addresses of the old weights.
  void take(std::shared_ptr<const WeightSet> weights) {
    std::uint64_t replays = 0;
    table_.each_program([&](const Program& program) { replays += program.replays; });
    recordings_.note_changed_weights(table_.size(), replays);
    ++weight_changes_;
    trim();
    weights_ = std::move(weights);
  }
  void trim() {
    table_ = ProgramTable(*planner_, content_->options.memory.max_plan_bytes);
    recordings_.reset();
    has_families_ = false;
  }

  void report(Report& report) const {
    table_.each_program([&](const Program& program) { report.plans.push_back(report_plan(program)); });
    recordings_.report(report);
    if (weight_changes_ != 0) {
      report.bailouts.push_back("The weights have changed " + std::to_string(weight_changes_) +
                                " times; plans made before were dropped, since they hold values of weights.");
    }
    report.replay_arena_bytes = table_.shared_bytes();
    report.plan_bytes = table_.bytes();
  }

 private:
  // Finds a program other than the predicted one: of this signature, or of a family, which is then given the
  // sizes of the call.
  [[gnu::noinline]] Program* lookup_others(std::span<const c10::IValue> args) {
    const auto instantiate = [&](Program& program, const SignatureWords& words) {
      return instantiate_for(program, words, *content_, *planner_);
    };
    if (Program* const known = table_.lookup_linear(args, instantiate)) return known;
    SignatureWords words;
    if ((table_.size() == 0 && recordings_.shares_nothing(*weights_)) || !describe_call(args, words))
      return nullptr;
    if (Program* const known = table_.lookup_hashed(args, words)) return known;
    if (has_families_) {
      if (Program* const made = table_.lookup_family(args, words, instantiate)) return made;
    }
    if (table_.is_full()) return nullptr;
    std::unique_ptr<Program> copy = recordings_.copy(words, *weights_);
    if (copy == nullptr) return nullptr;
    add(std::move(copy));
    if (Program* const known = table_.lookup_hashed(args, words)) return known;
    return has_families_ ? table_.lookup_family(args, words, instantiate) : nullptr;
  }

  void add(std::unique_ptr<Program> program) {
    program->ran = ran_;
    has_families_ |= program->family != nullptr;
    table_.add(std::move(program));
  }

  // The call has its result, so a program for which there is no memory is dropped.
  void add_recorded(std::unique_ptr<Program> program) {
    try {
      add(std::move(program));
    } catch (const c10::Error&) {
    } catch (const std::bad_alloc&) {
    }
  }

  const PreparedModule* content_;
  std::shared_ptr<const WeightSet> weights_;
  const memory::PlannerOps* planner_;
  ProgramTable table_;
  Recordings recordings_;
  RanNodes* ran_;
  bool has_families_ = false;
  std::uint64_t weight_changes_ = 0;
};

}  // namespace sr::replay
