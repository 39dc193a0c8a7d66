// What a StaticRuntime is made of, and how it answers a call: bind the arguments, find a program, then replay
// it, or record a new one, or run the graph on the general path. docs/internals/calls.md follows one call.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/base/thread_modes.hpp>
#include <sr/executor/arguments.hpp>
#include <sr/executor/block_runner.hpp>
#include <sr/executor/call_counters.hpp>
#include <sr/executor/call_entry.hpp>
#include <sr/executor/copied_results.hpp>
#include <sr/executor/counted_writes.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/executor/kept_outputs.hpp>
#include <sr/graph/observer.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/state_copy.hpp>
#include <sr/replay/runner/replayer.hpp>
#include <sr/runtime/bound_program.hpp>
#include <sr/runtime/repeated_call.hpp>

namespace sr::detail {

// Runtimes share it with their calls that are on a launcher.
class RuntimeState {
 public:
  // `observed` is the object of the hooks, which the state keeps: calls on a launcher outlive their runtime.
  RuntimeState(std::shared_ptr<const PreparedModule> module, const memory::PlannerOps& planner,
               const ObserverHooks& hooks, std::shared_ptr<void> observed)
      : prepared(std::move(module)),
        weights_(prepared->weights->current()),
        execution(*prepared, *weights_, planner, hooks),
        replayer(*prepared, weights_, planner, *metrics),
        observed_(std::move(observed)),
        argument_count_(prepared->schema.arguments().size()),
        may_replay_(hooks.object == nullptr && replayer.enabled()),
        follows_weights_(prepared->weights->count() != 0),
        state_(prepared->state.get()) {}

  // Moves from the arguments where it has to keep them. `record`: makes a program if one may be made, however
  // often the signature came.
  c10::IValue call(std::span<c10::IValue> args, const KeywordArgs* kwargs,
                   const CallOptions* options = nullptr, bool record = false) {
    if (options != nullptr) metrics->noted([&] { options->check(); });  // a call may be without steps
    const Entry entry = enter(options);
    follow_weights();
    std::vector<c10::IValue> bound;
    return answer(bind(args, kwargs, bound), record);
  }

  // Calls a forked body with the weights of the call that forks it.
  c10::IValue call_with(std::shared_ptr<const WeightSet> weights, std::span<c10::IValue> args,
                        const CallOptions& options) {
    options.check();
    // The call that forks the body holds the state of the module.
    const CallEntry entry(busy_, execution.frame, &options);
    repeated_.unbind();
    follows_weights_ = false;
    take(std::move(weights));
    return answer(args, false);
  }

  // Programs read the arguments where they are; the other ways of a call get copies.
  c10::IValue call_borrowed(std::span<const c10::IValue> args) {
    const Entry entry = enter();
    replay::Program* program = nullptr;
    if ((replays_at_once_ || prepares_replay()) && args.size() == argument_count_) {
      program = replayer.find(args);
      c10::IValue result;
      if (program != nullptr && replay(*program, args, result)) return result;
    }
    return call_copies(args, program == nullptr);
  }

  // Copies the results into the caller's tensors where a program does not write them there.
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions* options) {
    if (!replay_into(args, outputs, options)) run_and_copy(args, outputs, options);
  }

  // The part of run_into for calls that are not replayed, or whose replay ended half way.
  [[gnu::noinline]] void run_and_copy(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                                      const CallOptions* options) {
    c10::SmallVector<c10::IValue, 8> values(args.begin(), args.end());
    const c10::IValue result =
        replayer.has_failed() ? finish(values, options) : call(values, nullptr, options);
    metrics->noted([&] { copy_all_results(result, outputs); });
  }

  // Plans the memory of the general path by one call, which leaves the arguments as they are. Returns whether
  // calls may be replayed, too.
  bool plan_general_path(std::vector<c10::IValue>& args, const KeywordArgs& kwargs) {
    const Entry entry = enter();
    follow_weights();
    std::vector<c10::IValue> copies(args.begin(), args.end());  // which the call moves from
    general(copies, &kwargs);
    for (auto& runner : execution.runners) runner.reserve();
    return may_replay_;
  }

  // Calls the module on a copy of its state, so that the state stays as it is.
  c10::IValue call_on_copied_state(std::vector<c10::IValue>& args, const KeywordArgs* kwargs) const {
    RuntimeState trial(with_own_state(prepared), *execution.frame.planner, ObserverHooks{}, nullptr);
    return trial.call(args, kwargs, nullptr);
  }

  // What serves calls with these arguments. Follows the weights.
  struct Found {
    replay::Program* program = nullptr;  // null: calls are not replayed
    bool writes_outputs = false;         // into these tensors, whose addresses are in its table of bases
  };
  Found find_for(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs) {
    const Entry entry = enter();
    if (!prepares_replay()) return {};
    replay::Program* const program = replayer.find(std::span(args.data(), args.size()));
    return {program, program != nullptr && replayer.bind(*program, outputs)};
  }
  // True if the weights are those that programs were made with.
  [[gnu::always_inline]] bool has_current_weights() {
    return !follows_weights_ || prepared->weights->is_current(*weights_, turn_);
  }
  // For a program of find_for, if nothing has changed since. Returns false if run_and_copy has to answer. The
  // caller sees to it that no other call runs.
  [[gnu::always_inline]] bool run_bound(BoundProgram& bound, c10::ArrayRef<c10::IValue> args,
                                        c10::ArrayRef<at::Tensor> outputs) {
    return replayer.attempt(
        *bound.program(), [&]() __attribute__((always_inline)) {
          bound.run(replayer, args, outputs);
          return true;
        });
  }

  // Begins a call that may run, resize or remove programs. The program of a repeated call is no longer bound
  // then.
  struct Entry : CallEntry {
    Entry(RuntimeState& state, const CallOptions* options)
        : CallEntry(state.busy_, state.execution.frame, options), use_(state.state_) {
      state.repeated_.unbind();
    }

   private:
    StateUse use_;
  };
  Entry enter(const CallOptions* options = nullptr) { return {*this, options}; }

  c10::TypePtr result_type() const {
    const auto& returns = prepared->schema.returns();
    return returns.size() == 1 ? returns[0].type() : c10::TypePtr(c10::AnyType::get());
  }

  std::shared_ptr<const PreparedModule> prepared;
  std::shared_ptr<CallCounters> metrics = std::make_shared<CallCounters>();  // which pools read

 private:
  std::shared_ptr<const WeightSet> weights_;  // that the general path and the programs were made with

 public:
  ExecutionState execution;
  replay::Replayer replayer;

 private:
  // One value for each argument of the schema, in `args` or in `bound`. Complete arguments are not checked
  // here: programs compare them with their signatures, and the other ways check them.
  std::span<c10::IValue> bind(std::span<c10::IValue> args, const KeywordArgs* kwargs,
                              std::vector<c10::IValue>& bound) const {
    if ((kwargs == nullptr || kwargs->empty()) && args.size() == argument_count_) return args;
    bound.resize(argument_count_);
    metrics->noted([&] {
      bind_arguments(prepared->schema, args, kwargs,
                     [&](std::size_t i, c10::IValue&& value) { bound[i] = std::move(value); });
    });
    return bound;
  }

  c10::IValue answer(std::span<c10::IValue> args, bool record_now) {
    replay::Program* const program = may_replay_ ? replayer.find(args) : nullptr;
    c10::IValue result;
    if (program != nullptr && replay(*program, args, result)) return result;
    return record_or_run(args, program == nullptr, record_now);
  }
  c10::IValue answer_without_recording(std::span<c10::IValue> args) {
    replay::Program* const program = replayer.find(args);
    c10::IValue result;
    return program != nullptr && replay(*program, args, result) ? result : general(args, nullptr);
  }

  bool replay(replay::Program& program, std::span<const c10::IValue> args, c10::IValue& result) {
    return replayer.attempt(program, [&] {
      result = replayer.run(program, args, execution.frame.call);
      return true;
    });
  }

  // Without a program, or after a replay that data led elsewhere.
  c10::IValue record_or_run(std::span<c10::IValue> args, bool may_record, bool record_now) {
    if (!record_now) metrics->note_unplanned();
    return metrics->noted([&] {
      if (may_replay_ && may_record) {
        if (auto recording = replayer.begin_recording(args, record_now))
          return record(args, std::move(*recording));
      }
      return general(args, nullptr);
    });
  }

  c10::IValue record(std::span<c10::IValue> args, replay::Recording recording) {
    bind_arguments(prepared->schema, args, nullptr, [](std::size_t, c10::IValue&&) {});
    const CountedWrites counted(prepared->written_inputs,
                                [&](std::size_t i) -> const c10::IValue& { return args[i]; });
    std::optional<c10::IValue> result = replayer.record(args, execution.frame.call, std::move(recording));
    return result ? std::move(*result) : answer_without_recording(args);
  }

  c10::IValue general(std::span<c10::IValue> args, const KeywordArgs* kwargs) {
    const ThreadModes modes = ThreadModes::now();
    kept_outputs_.obey(modes, execution);
    execution.frame.dispatches = modes.autocast() || replay::Environment::memory_is_filled();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    const ObserverHooks& observer = execution.observer;
    observer.begin(Phase::setup);
    auto& top = execution.runners[0];
    const auto& inputs = prepared->blocks[0].inputs;
    bind_arguments(prepared->schema, args, kwargs, [&](std::size_t i, c10::IValue&& value) {
      execution.frame.values[inputs[i]] = std::move(value);
    });
    const CountedWrites counted(prepared->written_inputs, [&](std::size_t i) -> const c10::IValue& {
      return execution.frame.values[inputs[i]];
    });
    if (prepared->options.manage_output_tensors) top.recycle_outputs();
    observer.end(Phase::setup);
    execution.frame.ran = replayer.ran();
    replayer.forget_failure();
    const ForgetRanNodes forget{execution.frame};
    top.run();
    const Release release{execution};
    c10::IValue result = take_results(top);
    return fresh_copies(*prepared, result);
  }

  c10::IValue take_results(BlockRunner& top) {
    const std::size_t count = prepared->blocks[0].outputs.size();
    if (count == 1) return top.take_output(0);
    std::vector<c10::IValue> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(top.take_output(i));
    return join_results(std::move(all));
  }

  // Out of line, as run_and_copy is: the fast way would have twice as many registers to save and restore.
  [[gnu::noinline]] c10::IValue call_copies(std::span<const c10::IValue> args, bool may_record) {
    c10::SmallVector<c10::IValue, 8> copies(args.begin(), args.end());
    if (args.size() == argument_count_) return record_or_run(copies, may_record, /*record_now=*/false);
    std::vector<c10::IValue> bound;
    return answer(bind(copies, nullptr, bound), /*record_now=*/false);
  }

  // True: the results are in the caller's tensors.
  [[gnu::always_inline]] bool replay_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                                          const CallOptions* options) {
    const CallEntry entry(busy_, execution.frame, options);
    if (!replays_at_once_ && !prepares_replay()) return false;
    if (repeated_.holds_for(args, outputs) && options == nullptr)
      return run_bound(repeated_.use(), args, outputs);
    repeated_.unbind();
    const std::span<const c10::IValue> values(args.data(), args.size());
    replay::Program* program = replayer.find(values);
    if (program == nullptr ||
        !replayer.attempt(*program, [&] { return replayer.run_into(*program, values, outputs, options); }))
      return false;
    if (options == nullptr) repeated_.note(replayer, *program, args, outputs);
    return true;
  }

  // Makes the call on the general path whose replay ended half way.
  c10::IValue finish(std::span<c10::IValue> args, const CallOptions* options) {
    const Entry entry = enter(options);
    metrics->note_unplanned();
    return metrics->noted([&] { return general(args, nullptr); });
  }

  // Before anything is computed with a weight.
  void follow_weights() {
    if (follows_weights_) prepares_replay();
  }

  // Follows the weights, and returns whether calls may be replayed. Out of line, so that the start of a
  // replay stays short enough to be inlined.
  [[gnu::noinline]] bool prepares_replay() {
    if (follows_weights_ && !prepared->weights->is_current(*weights_, turn_)) [[unlikely]]
      take_new_weights();
    return may_replay_;
  }

  [[gnu::noinline]] void take_new_weights() { take(prepared->weights->renewed()); }

  void take(std::shared_ptr<const WeightSet> weights) {
    if (weights == weights_) return;
    repeated_.unbind();
    execution.take(*weights);
    replayer.take(weights);
    weights_ = std::move(weights);
  }

  std::shared_ptr<void> observed_;
  std::size_t argument_count_;
  bool may_replay_;       // no node is observed, and the module can be replayed
  bool follows_weights_;  // a weight may change between calls
  bool replays_at_once_ = may_replay_ && !follows_weights_;  // one test instead of two
  ModuleState* state_;    // null if calls write nothing that outlives them; the module owns it
  std::size_t turn_ = 0;  // of the element of a weight that is compared in the next call
  KeptOutputs kept_outputs_;
  RepeatedCall repeated_;
  std::atomic<bool> busy_ = false;
};

}  // namespace sr::detail
