// Records and replays one data-dependent block: a branch, or the body of a loop. Treats each run of the block
// as a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/borrowed.hpp>
#include <sr/base/identity.hpp>
#include <sr/base/kept_bytes.hpp>
#include <sr/executor/misses.hpp>
#include <sr/graph/report.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/programs/written_arguments.hpp>
#include <sr/replay/runner/release_values.hpp>
#include <sr/replay/runner/runtime_programs.hpp>
#include <sr/replay/runner/step_runner.hpp>
#include <sr/replay/trace/entry.hpp>

namespace sr::replay {

// Belongs to one runtime. The module, the planner and `blocks` must outlive it. It must not move.
class ReplayedBlock {
 public:
  ReplayedBlock(const PreparedModule& content, std::uint32_t block, std::shared_ptr<const WeightSet> weights,
                const memory::PlannerOps& planner, BlockCalls& blocks)
      : content_(&content),
        services_{&planner, weights.get(), {}, {}, &blocks, {}},
        entry_(Entry::of_block(content, block)),
        last_numbers_(entry_.inputs.size()),
        programs_(content, entry_, std::move(weights), planner, misses_, services_.ran) {}
  ReplayedBlock(const ReplayedBlock&) = delete;
  ReplayedBlock& operator=(const ReplayedBlock&) = delete;

  // See Replayer::time_steps.
  void time_steps(bool on, bool forgets) {
    times_steps_ = on;
    if (forgets) programs_.table().forget_times();
  }

  // See BlockCalls.
  bool run(Frame& frame) {
    has_run_ = true;
    const Held held{*this};
    take_inputs(frame);
    if (entry_.changes_lists && has_aliases()) return false;
    Program* const program = programs_.find(args_);
    if (program == nullptr) return record(frame);
    return (!program->changes_arguments || begin_writes(*program)) && replay(*program, frame);
  }

  // See Results.
  void end_call() {
    if (!std::exchange(has_run_, false)) return;
    programs_.table().each_program([](Program& program) { program.results.end_call(); });
  }

  void take(std::shared_ptr<const WeightSet> weights) {
    services_.weights = weights.get();
    programs_.take(std::move(weights));
  }
  void trim() { programs_.trim(); }

  // Adds a BlockReport, and the memory of the programs.
  void report(Report& report) const {
    Report own;
    programs_.report(own);
    report.replay_arena_bytes += own.replay_arena_bytes;
    report.plan_bytes += own.plan_bytes;
    if (own.plans.empty() && own.bailouts.empty()) return;
    report.decided_blocks.push_back({entry_.name, replayed_, std::move(own.plans), std::move(own.bailouts),
                                     std::move(own.misses), std::move(own.pinned_by)});
  }

 private:
  // Releases the inputs, also if an operator throws.
  struct Held {
    ReplayedBlock& block;
    ~Held() {
      block.args_.clear();
      block.numbers_.clear();
      block.services_.undo.clear();
    }
  };

  void take_inputs(const Frame& frame) {
    args_.clear();
    numbers_.clear();
    for (const Entry::Input& input : entry_.inputs) {
      const c10::IValue& value = frame.values[input.slot];
      if (input.by_value) {
        numbers_.push_back(value);
        args_.emplace_back();
      } else {
        args_.push_back(value);
      }
    }
  }

  // True if a list by value is another one, too, or lies in another container. Programs tell lists apart by
  // the inputs that they are.
  bool has_aliases() const {
    std::unordered_set<const void*> lists;
    bool found = false;
    for (const c10::IValue& number : numbers_)
      found |= number.isList() && !lists.insert(number.internalToPointer()).second;
    for (const c10::IValue& arg : args_) {
      sr::detail::each_container(arg, [&](const c10::IValue& container) {
        found |= lists.count(container.internalToPointer()) != 0;
      });
    }
    return found;
  }

  // Returns false if a tensor that the block writes shares memory with another one that it reads, or is too
  // large to be restored if data end the replay.
  bool begin_writes(Program& program) {
    if (!enter_written_arguments(program, args_)) return false;
    if (!program.may_end_behind_write) return true;
    if (program.unlogged_bytes() > kMostKeptBytes) return false;
    services_.undo.begin(/*keep_all=*/true);
    program.log_leaves(services_.undo);
    return true;
  }

  // Returns false if the replay was deoptimized. All writes are then undone.
  bool replay(Program& program, Frame& frame) {
    if (program.may_draw_again) services_.generator.keep();
    try {
      run_program(program, frame);
    } catch (const Deoptimized& failure) {
      services_.undo.undo();
      if (program.may_draw_again) services_.generator.restore();
      programs_.note_ended(program, failure);
      // Lists may have changed: the call begins again.
      if (entry_.changes_lists) throw Deoptimized(failure.why, Deoptimized::Program::kept);
      return false;
    }
    ++program.replays;
    ++replayed_;
    return true;
  }

  void run_program(Program& program, Frame& frame) {
    std::vector<std::size_t> lengths;  // of the lists that it appends to, before it does
    for (const ValueId list : program.appends_to) lengths.push_back(numbers_[list].toTensorList().size());
    ProgramTable& table = programs_.table();
    if (kCheckPlans && table.is_shared()) table.poison();
    program.results.prepare(program.bases.data());
    program.set_derived_bases();
    for (std::size_t i = 0; i < numbers_.size(); ++i) program.values[i] = numbers_[i];
    Context context{program.bases.data(), &program.values, &program.tensors,
                    frame.call,           &services_,      program.bases.size()};
    const ReleaseResults release{{program}};
    if (times_steps_ && StepRunner::is_timed(program)) [[unlikely]] {
      StepRunner(table).run_timed(program, context, frame.call);
    } else {
      StepRunner(table).run(program, context, frame.call);
    }
    if (lengths.empty()) {
      program.results.build_each(context, args_,
                                 [&](std::size_t i, c10::IValue value) { put(i, std::move(value), frame); });
    } else {
      std::vector<c10::IValue> results = program.results.build_all(context, args_);
      append(program, results, lengths);
      put_all(std::move(results), frame);
    }
  }

  // Replaces the undefined tensors that steps have appended to lists by the last results, in order. Nested
  // blocks have already replaced theirs.
  void append(const Program& program, const std::vector<c10::IValue>& results,
              const std::vector<std::size_t>& lengths) const {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      c10::List<at::Tensor> list = numbers_[program.appends_to[i]].toTensorList();
      std::size_t place = lengths[i];
      while (place < list.size() && list.get(place).defined()) ++place;
      const at::Tensor& tensor = results[entry_.own_outputs.size() + i].toTensor();
      if (place == list.size() || !tensor.defined() ||
          memory::is_borrowed(*tensor.storage().unsafeGetStorageImpl()))
        throw Deoptimized("A block appends a tensor of the replay to a list.", Deoptimized::Program::doubted);
      list.set(place, tensor);
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const c10::List<at::Tensor> list = numbers_[program.appends_to[i]].toTensorList();
      for (std::size_t place = lengths[i]; place < list.size(); ++place) {
        if (!list.get(place).defined())
          throw Deoptimized("A block appends an undefined tensor to a list.", Deoptimized::Program::doubted);
      }
    }
  }

  bool record(Frame& frame) {
    if (learn_numbers(frame)) take_inputs(frame);
    std::optional<Recording> recording = programs_.begin_recording(args_, /*at_once=*/false);
    if (!recording) return false;
    auto outputs = programs_.record(args_, numbers_, frame.call, std::move(*recording));
    if (!outputs) return false;
    put_all(std::move(*outputs), frame);
    return true;
  }

  // Numbers that differ between two runs become inputs by value, where they may. Programs do not fit then.
  bool learn_numbers(const Frame& frame) {
    bool has_learned = false;
    for (std::size_t i = 0; i < entry_.inputs.size(); ++i) {
      Entry::Input& input = entry_.inputs[i];
      if (!input.may_be_by_value || input.by_value) continue;
      const c10::IValue& now = frame.values[input.slot];
      input.by_value = !last_numbers_[i].isNone() && !is_same(last_numbers_[i], now);
      last_numbers_[i] =
          now.isList() ? c10::IValue(std::int64_t{0}) : now;  // lists may change, and are not kept
      has_learned |= input.by_value;
    }
    if (has_learned) programs_.trim();
    return has_learned;
  }
  static bool is_same(const c10::IValue& a, const c10::IValue& b) {
    if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
    if (a.isBool() && b.isBool()) return a.toBool() == b.toBool();
    return a.isDouble() && b.isDouble() && a.toDouble() == b.toDouble();
  }

  void put(std::size_t i, c10::IValue value, Frame& frame) const {
    if (entry_.own_outputs[i])
      frame.values[content_->blocks[entry_.block].outputs[i].slot] = std::move(value);
  }
  void put_all(std::vector<c10::IValue> values, Frame& frame) const {
    for (std::size_t i = 0; i < entry_.own_outputs.size(); ++i) put(i, std::move(values[i]), frame);
  }

  const PreparedModule* content_;
  Services services_;  // whose log is of the run
  Entry entry_;
  Misses misses_;
  std::uint64_t replayed_ = 0;
  bool times_steps_ = false, has_run_ = false;
  std::vector<c10::IValue> last_numbers_;    // by input, of the last run without a program
  RuntimePrograms programs_;                 // which refers to services_
  std::vector<c10::IValue> args_, numbers_;  // of the run
};

}  // namespace sr::replay
