// What a StaticRuntime is made of, and how it answers a call: bind the arguments, find a program, then replay
// it, or record a new one, or run the graph on the general path. docs/internals/calls.md follows one call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/executor/arguments.hpp>
#include <sr/executor/call_counters.hpp>
#include <sr/executor/call_entry.hpp>
#include <sr/graph/observer.hpp>
#include <sr/graph/report.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/session_state.hpp>
#include <sr/replay/runner/replayer.hpp>
#include <sr/replay/runner/traced_call.hpp>
#include <sr/runtime/bound_program.hpp>
#include <sr/runtime/call.hpp>
#include <sr/runtime/general_path.hpp>
#include <sr/runtime/repeated_call.hpp>

namespace sr::detail {

// Runtimes share it with their calls that are on a launcher. Every function but counters(), content(),
// replayed_calls() and arena() throws BusyError while a call runs.
class RuntimeState {
 public:
  // `observed` is the object of the hooks, which this keeps: calls on a launcher outlive their runtime.
  // `state` is used by calls that bring no state. It is null if the module has no state.
  RuntimeState(std::shared_ptr<const PreparedModule> module, std::shared_ptr<SessionState> state,
               const memory::PlannerOps& planner, const ObserverHooks& hooks, std::shared_ptr<void> observed)
      : module_(std::move(module)),
        weights_(module_->weights->current()),
        general_(*module_, *weights_, planner, hooks),
        replayer_(*module_, weights_, planner, *counters_),
        observed_(std::move(observed)),
        argument_count_(module_->schema.arguments().size()),
        state_(std::move(state)),
        may_replay_(hooks.object == nullptr && replayer_.enabled()),
        follows_weights_(module_->weights->count() != 0) {}

  c10::IValue run(const Call& call) {
    if (call.options != nullptr) counters_->noted([&] { call.options->check(); });  // it may have no steps
    const Entry entry(*this, call.options, call.state != nullptr ? call.state : state_.get(),
                      call.holds_state);
    // A call is finished with the weights that began it.
    if (call.mode != CallMode::general && follows_weights_) prepares_replay();
    std::vector<c10::IValue> bound;
    return answer(bind(call.args, call.kwargs, bound), call.mode);
  }

  // A call that the metrics count and time, and that fills the trace of its options.
  c10::IValue run_counted(const Call& call) {
    std::optional<replay::TracedCall> traced;
    if (call.options != nullptr && call.options->trace != nullptr)
      traced.emplace(*call.options->trace, replayer_);
    const auto answer = [&] { return run(call); };
    return counters_->begin_call() ? counters_->time(answer) : answer();
  }

  // Leaves the arguments to the caller: programs read them where they are, and the other ways get copies.
  c10::IValue run_borrowed(std::span<const c10::IValue> args) {
    if (state_ != nullptr) [[unlikely]] {
      c10::SmallVector<c10::IValue, 8> copies(args.begin(), args.end());
      return run({copies});
    }
    const CallEntry entry(busy_, general_.frame(), nullptr);
    repeated_.unbind();
    replay::Program* program = nullptr;
    if ((replays_at_once_ || prepares_replay()) && args.size() == argument_count_) {
      program = replayer_.find(args);
      c10::IValue result;
      if (program != nullptr && replay(*program, args, result)) return result;
    }
    return run_copies(args, program == nullptr);
  }

  // Copies the results into the caller's tensors where a program does not write them there.
  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions* options) {
    if (!replay_into(args, outputs, options)) run_and_copy(args, outputs, options);
  }
  // Does what run_into does, with the state of a session. `options` may be null.
  void run_into_on(SessionState& state, c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                   const CallOptions* options);

  // Calls a forked body with the weights of the call that forks it, which also holds the state of the module.
  c10::IValue run_forked(std::shared_ptr<const WeightSet> weights, std::span<c10::IValue> args,
                         const CallOptions& options) {
    options.check();
    const CallEntry entry(busy_, general_.frame(), &options);
    repeated_.unbind();
    follows_weights_ = false;
    take(std::move(weights));
    return answer(args, CallMode::usual);
  }

  // Makes one call that records a program if one may be made. The state of the module stays as it is.
  c10::IValue rehearse(std::span<c10::IValue> args, const KeywordArgs* kwargs);
  // Prepares for calls with these arguments: plans the memory of the general path, and records a program.
  void reserve(std::span<c10::IValue> args, const KeywordArgs& kwargs);
  void trim() {
    const Entry entry = enter();
    general_.trim();
    replayer_.trim();
  }
  void time_steps(bool on) {
    const Entry entry = enter();
    replayer_.time_steps(on);
  }

  // Binds the program for these tensors as they are, if it can write its results into them; else leaves
  // `bound` unbound. Returns whether calls with them are replayed.
  bool bind(BoundProgram& bound, c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs);
  // True if the weights are those that programs were made with.
  [[gnu::always_inline]] bool has_current_weights() {
    return !follows_weights_ || module_->weights->is_current(*weights_, turn_);
  }
  // Runs a program that bind() has bound, if nothing has changed since. Returns false if run_and_copy has to
  // answer. The caller sees to it that no other call runs.
  [[gnu::always_inline]] bool run_bound(BoundProgram& bound, c10::ArrayRef<c10::IValue> args,
                                        c10::ArrayRef<at::Tensor> outputs) {
    return replayer_.attempt(
        *bound.program(), [&]() __attribute__((always_inline)) {
          bound.run(replayer_, args, outputs);
          return true;
        });
  }
  // The part of run_into for calls that are not replayed, or whose replay ended half way.
  void run_and_copy(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                    const CallOptions* options);

  const std::shared_ptr<const PreparedModule>& content() const { return module_; }
  const std::shared_ptr<SessionState>& state() const { return state_; }
  const memory::PlannerOps& planner() const { return general_.planner(); }
  const std::shared_ptr<CallCounters>& counters() const { return counters_; }
  std::uint64_t replayed_calls() const { return replayer_.replayed_calls(); }
  const memory::Arena& arena(std::size_t block) const { return general_.arena(block); }
  template <class Visit>
  void each_plan_buffer(const Visit& visit) const {
    replayer_.each_buffer(visit);
  }
  Report report() const {
    Report report = general_.report();
    replayer_.report(report);
    return report;
  }

 private:
  // Begins a call that may run, resize or remove programs. The program of a repeated call is no longer bound
  // then.
  struct Entry : CallEntry {
    // `state` may be null. The runtime uses it until the call ends.
    Entry(RuntimeState& runtime, const CallOptions* options, SessionState* state, bool holds_state = false)
        : CallEntry(runtime.busy_, runtime.general_.frame(), options),
          use_(holds_state ? nullptr : state),
          used_(runtime.used_) {
      used_ = state;
      runtime.repeated_.unbind();
    }
    ~Entry() { used_ = nullptr; }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    StateUse use_;
    SessionState*& used_;
  };
  // Begins what neither reads nor writes the state.
  Entry enter() { return {*this, nullptr, nullptr}; }

  // Returns a copy of the state, or null if the module has no state. Throws BusyError and StateError.
  std::unique_ptr<SessionState> copy_of_state() const;

  // Complete arguments are not checked here: programs compare them with their signatures, and the other ways
  // check them.
  std::span<c10::IValue> bind(std::span<c10::IValue> args, const KeywordArgs* kwargs,
                              std::vector<c10::IValue>& bound) const {
    if ((kwargs == nullptr || kwargs->empty()) && args.size() == argument_count_) return args;
    counters_->noted([&] { bind_arguments(module_->schema, args, kwargs, bound); });
    return bound;
  }

  c10::IValue answer(std::span<c10::IValue> args, CallMode mode) {
    if (used_ != nullptr) [[unlikely]]
      return answer_with_state(args, mode, nullptr);
    replay::Program* const program =
        may_replay_ && mode != CallMode::general ? replayer_.find(args) : nullptr;
    c10::IValue result;
    if (program != nullptr && replay(*program, args, result)) return result;
    return record_or_general(args, mode, program == nullptr && mode != CallMode::general);
  }

  bool replay(replay::Program& program, std::span<const c10::IValue> args, c10::IValue& result) {
    if (program.changes_arguments) [[unlikely]]
      return replay_with_state(program, args, nullptr, result);
    return replayer_.attempt(program, [&] {
      result = replayer_.run(program, args, general_.frame().call);
      return true;
    });
  }

  // Calls of modules with state, and replays that change arguments. These functions and run_into_on are
  // defined in state_calls.hpp. The other functions that are only declared here are defined in
  // unplanned_calls.hpp. A file that makes calls must include both headers. If `outputs` is not null, the
  // results are written there.
  using Outputs = const c10::ArrayRef<at::Tensor>*;
  c10::IValue answer_with_state(std::span<c10::IValue> args, CallMode mode, Outputs outputs);
  bool replay_with_state(replay::Program& program, std::span<const c10::IValue> all, Outputs outputs,
                         c10::IValue& result);
  c10::IValue record_with_state(std::span<c10::IValue> all, std::span<c10::IValue> given,
                                replay::Recording recording, Outputs outputs);

  // Without a program, or after a replay that data led elsewhere.
  c10::IValue record_or_general(std::span<c10::IValue> args, CallMode mode, bool may_record);
  c10::IValue record(std::span<c10::IValue> args, replay::Recording recording);
  // `outputs` only for a module with state.
  c10::IValue general(std::span<c10::IValue> args, const c10::ArrayRef<at::Tensor>* outputs = nullptr) {
    return general_.run(args, nullptr, replayer_, used_, outputs);
  }

  // Out of line, as run_and_copy is: the fast way would have twice as many registers to save and restore.
  [[gnu::noinline]] c10::IValue run_copies(std::span<const c10::IValue> args, bool may_record) {
    c10::SmallVector<c10::IValue, 8> copies(args.begin(), args.end());
    if (args.size() == argument_count_) return record_or_general(copies, CallMode::usual, may_record);
    std::vector<c10::IValue> bound;
    return answer(bind(copies, nullptr, bound), CallMode::usual);
  }

  // True: the results are in the caller's tensors.
  [[gnu::always_inline]] bool replay_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                                          const CallOptions* options) {
    const CallEntry entry(busy_, general_.frame(), options);
    if (!replays_at_once_ && !prepares_replay()) return false;
    if (repeated_.holds_for(args, outputs) && options == nullptr)
      return run_bound(repeated_.use(), args, outputs);
    repeated_.unbind();
    const std::span<const c10::IValue> values(args.data(), args.size());
    replay::Program* program = replayer_.find(values);
    if (program != nullptr && program->changes_arguments) [[unlikely]] {
      c10::IValue none;
      return replay_with_state(*program, values, &outputs, none);
    }
    if (program == nullptr ||
        !replayer_.attempt(*program, [&] { return replayer_.run_into(*program, values, outputs, options); }))
      return false;
    if (options == nullptr) repeated_.note(replayer_, *program, args, outputs);
    return true;
  }

  // Follows the weights, before anything is computed with one. Returns true if a call may be replayed that
  // has no state. Out of line, so that the start of a replay stays short enough to be inlined.
  [[gnu::noinline]] bool prepares_replay() {
    if (follows_weights_ && !module_->weights->is_current(*weights_, turn_)) [[unlikely]]
      take_new_weights();
    return may_replay_ && state_ == nullptr;
  }

  [[gnu::noinline]] void take_new_weights() { take(module_->weights->renewed()); }

  void take(std::shared_ptr<const WeightSet> weights) {
    if (weights == weights_) return;
    repeated_.unbind();
    general_.take(*weights);
    replayer_.take(weights);
    weights_ = std::move(weights);
  }

  std::shared_ptr<const PreparedModule> module_;
  std::shared_ptr<CallCounters> counters_ = std::make_shared<CallCounters>();  // which pools read, too
  std::shared_ptr<const WeightSet> weights_;  // that the general path and the programs were made with
  GeneralPath general_;
  replay::Replayer replayer_;
  std::shared_ptr<void> observed_;
  std::size_t argument_count_;
  std::shared_ptr<SessionState> state_;  // of calls that bring none; null if the module has none
  bool may_replay_;                      // no node is observed, and the module can be replayed
  bool follows_weights_;                 // a weight may change between calls
  bool replays_at_once_ = may_replay_ && !follows_weights_ && state_ == nullptr;  // one test instead of three
  SessionState* used_ = nullptr;                                                  // by the call that runs
  std::size_t turn_ = 0;  // of the element of a weight that is compared in the next call
  RepeatedCall repeated_;
  std::atomic<bool> busy_ = false;
};

}  // namespace sr::detail
