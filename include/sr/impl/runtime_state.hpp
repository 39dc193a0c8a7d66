// What a StaticRuntime is made of, and how a call goes: by a plan, or on the general path.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DefaultDtype.h>

#include <sr/base/call_options.hpp>
#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/base/thread_modes.hpp>
#include <sr/base/versions.hpp>
#include <sr/executor/arguments.hpp>
#include <sr/executor/block_runner.hpp>
#include <sr/executor/copied_results.hpp>
#include <sr/executor/execution_state.hpp>
#include <sr/graph/observer.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/replay/replayer.hpp>
#include <sr/static_module.hpp>

namespace sr::detail {

// Runtimes share it with their calls that are on a launcher.
class RuntimeState {
 public:
  // One entry at a time, from whatever thread: an operator that calls its own runtime is caught too.
  class Entered {
   public:
    explicit Entered(RuntimeState& state, const CallOptions* options = nullptr) : state_(&state) {
      if (state.busy_.exchange(true, std::memory_order_acquire)) throw_busy();
      state.machine.frame.call = options;
    }
    ~Entered() {
      state_->machine.frame.call = nullptr;
      state_->busy_.store(false, std::memory_order_release);
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    [[noreturn]] static void throw_busy() {
      throw BusyError(
          "This StaticRuntime is running already. It belongs to one thread at a time: give each thread its "
          "own (clone()), or call the StaticModule, which keeps a runtime for each caller.");
    }

    RuntimeState* state_;
  };

  // `observed` is the object of the hooks, which the state keeps: calls on a launcher outlive their runtime.
  RuntimeState(std::shared_ptr<const PreparedModule> shared, const memory::PlannerOps& planner,
               const ObserverHooks& hooks, std::shared_ptr<void> observed)
      : content(std::move(shared)),
        weights_(content->weights->current()),
        machine(*content, *weights_, planner, hooks),
        replayer(*content, weights_, planner),
        observed_(std::move(observed)),
        argument_count_(content->schema.arguments().size()),
        may_replay_(hooks.object == nullptr && replayer.enabled()),
        follows_weights_(content->weights->count() != 0) {}

  c10::IValue call(std::span<c10::IValue> args, const KeywordArgs* kwargs,
                   const CallOptions* options = nullptr, bool record = false) {
    if (options != nullptr) options->check();  // a call may be without steps
    const Entered entered(*this, options);
    follow_weights();
    return run(args, kwargs, record);
  }

  // Positional arguments that stay the caller's: plans read them where they are.
  c10::IValue call_borrowed(std::span<const c10::IValue> args) {
    const Entered entered(*this);
    replay::Program* plan = nullptr;
    if ((replays_at_once() || prepares_replay()) && args.size() == argument_count_) {
      plan = replayer.find(args);
      c10::IValue result;
      if (plan != nullptr && replay(*plan, args, result)) return result;
    }
    return run_copies(args, plan == nullptr);
  }

  // Plans the memory of the general path; true: replay is on, and the arguments are as they were.
  bool run_general_once(std::vector<c10::IValue>& args, const KeywordArgs& kwargs) {
    const Entered entered(*this);
    follow_weights();
    std::vector<c10::IValue> copies(args.begin(), args.end());  // which the call moves from
    run_general(copies, &kwargs);
    for (auto& runner : machine.runners) runner.reserve();
    return replays();
  }

  void run_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                const CallOptions* options) {
    if (!replay_into(args, outputs, options)) run_and_copy(args, outputs, options);
  }

  c10::TypePtr result_type() const {
    const auto& returns = content->schema.returns();
    return returns.size() == 1 ? returns[0].type() : c10::TypePtr(c10::AnyType::get());
  }

  std::shared_ptr<const PreparedModule> content;

 private:
  std::shared_ptr<const WeightSet> weights_;  // that the machine and the plans were made with

 public:
  ExecutionState machine;
  replay::Replayer replayer;

 private:
  // Before anything is computed with a weight.
  [[gnu::always_inline]] void follow_weights() {
    if (follows_weights_) compare_weights();
  }
  // Kept out of line, so that the start of a replay stays short enough to be inlined.
  [[gnu::noinline]] void compare_weights() {
    if (!content->weights->is_current(*weights_, turn_)) [[unlikely]]
      take_new_weights();
  }
  [[gnu::noinline]] void take_new_weights() {
    std::shared_ptr<const WeightSet> renewed = content->weights->renewed();
    if (renewed == weights_) return;
    machine.take(*renewed);
    replayer.take(renewed);
    weights_ = std::move(renewed);
  }

  // Plans have no nodes to observe: whoever watches gets the general path.
  bool replays() const { return may_replay_; }
  // True when calls may be replayed and no weight has to be compared: one test for both.
  bool replays_at_once() const { return replays_at_once_; }
  [[gnu::noinline]] bool prepares_replay() {
    if (follows_weights_ && !content->weights->is_current(*weights_, turn_)) [[unlikely]]
      take_new_weights();
    return may_replay_;
  }

  bool replay(replay::Program& plan, std::span<const c10::IValue> args, c10::IValue& result) {
    return replayer.attempt(plan, [&] {
      result = replayer.run(plan, args, machine.frame.call);
      return true;
    });
  }

  c10::IValue run(std::span<c10::IValue> args, const KeywordArgs* kwargs, bool record) {
    if (!replays()) return run_general(args, kwargs);
    if ((kwargs == nullptr || kwargs->empty()) && args.size() == argument_count_) {
      return replay_or_run(args, record);
    }
    std::vector<c10::IValue> bound(argument_count_);
    bind_arguments(content->schema, args, kwargs,
                   [&](std::size_t i, c10::IValue&& value) { bound[i] = std::move(value); });
    return replay_or_run(bound, record);
  }

  // One value for each argument of the schema.
  c10::IValue replay_or_run(std::span<c10::IValue> args, bool record) {
    replay::Program* const plan = replayer.find(args);
    c10::IValue result;
    if (plan != nullptr && replay(*plan, args, result)) return result;
    return run_unplanned(args, plan == nullptr, record);
  }

  // In code of its own, as run_and_copy is.
  [[gnu::noinline]] c10::IValue run_copies(std::span<const c10::IValue> args, bool may_record) {
    c10::SmallVector<c10::IValue, 8> copies(args.begin(), args.end());
    if (!replays() || args.size() != argument_count_) return run(copies, nullptr, /*record=*/false);
    return run_unplanned(copies, may_record, /*record=*/false);
  }

  c10::IValue run_unplanned(std::span<c10::IValue> args, bool may_record, bool record) {
    if (!may_record || !replayer.should_record(args, record)) return run_general(args, nullptr);
    bind_arguments(content->schema, args, nullptr, [](std::size_t, c10::IValue&&) {});
    const CountWrites count_writes(content->written_inputs,
                                   [&](std::size_t i) -> const c10::IValue& { return args[i]; });
    return replayer.record(args, machine.frame.call);
  }

  c10::IValue run_general(std::span<c10::IValue> args, const KeywordArgs* kwargs) {
    obey_modes();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::NoGradGuard no_grad;
    const ObserverHooks& observer = machine.observer;
    observer.begin(Phase::setup);
    auto& top = machine.runners[0];
    const auto& inputs = content->blocks[0].inputs;
    bind_arguments(content->schema, args, kwargs, [&](std::size_t i, c10::IValue&& value) {
      machine.frame.values[inputs[i]] = std::move(value);
    });
    const CountWrites count_writes(content->written_inputs, [&](std::size_t i) -> const c10::IValue& {
      return machine.frame.values[inputs[i]];
    });
    if (content->options.manage_output_tensors) top.recycle_outputs();
    observer.end(Phase::setup);
    machine.frame.ran = replayer.ran();
    replayer.forget_failure();
    const Forget forget{*this};
    top.run();
    const Finish finish{*this};
    c10::IValue result = take_results(top);
    return content->folded.empty() ? result : FreshCopies(content->folded)(result);
  }

  // In code of its own, as it would double what the fast way has to save and restore.
  [[gnu::noinline]] void run_and_copy(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                                      const CallOptions* options) {
    c10::SmallVector<c10::IValue, 8> values(args.begin(), args.end());
    const c10::IValue result =
        replayer.has_failed() ? finish_replay(values, options) : call(values, nullptr, options);
    std::size_t used = 0;
    copy_results(result, outputs, used);
    if (used != outputs.size()) {
      throw ArgumentError("run_into was given " + std::to_string(outputs.size()) +
                          " output tensors, but the model returns " + std::to_string(used) + ".");
    }
  }

  c10::IValue finish_replay(std::span<c10::IValue> args, const CallOptions* options) {
    const Entered entered(*this, options);
    return run_general(args, nullptr);
  }

  // True: the results are in the caller's buffers.
  [[gnu::always_inline]] bool replay_into(c10::ArrayRef<c10::IValue> args, c10::ArrayRef<at::Tensor> outputs,
                                          const CallOptions* options) {
    const Entered entered(*this, options);
    if (!replays_at_once() && !prepares_replay()) return false;
    const std::span<const c10::IValue> values(args.data(), args.size());
    replay::Program* plan = replayer.find(values);
    return plan != nullptr &&
           replayer.attempt(*plan, [&] { return replayer.run_into(*plan, values, outputs, options); });
  }

  // Arguments that the call writes, also when it ends half way.
  struct CountWrites {
    template <class ArgumentAt>
    CountWrites(const std::vector<std::size_t>& positions, const ArgumentAt& argument) {
      for (const std::size_t i : positions) {
        each_tensor(argument(i), [&](const at::Tensor& tensor) {
          if (tensor.defined()) written.push_back(tensor);
        });
      }
    }
    ~CountWrites() {
      for (const at::Tensor& tensor : written) count_write(tensor);
    }
    CountWrites(const CountWrites&) = delete;
    CountWrites& operator=(const CountWrites&) = delete;

    c10::SmallVector<at::Tensor, 2> written;
  };

  // What a replay has run belongs to this call alone.
  struct Forget {
    RuntimeState& state;
    ~Forget() {
      if (state.machine.frame.ran == nullptr) return;
      state.machine.frame.ran->clear();
      state.machine.frame.ran = nullptr;
    }
  };

  // Releases what the call still holds, whether or not its results could be handed over.
  struct Finish {
    RuntimeState& state;
    ~Finish() {
      state.machine.observer.begin(Phase::release);
      state.machine.runners[0].finish();
      state.machine.observer.end(Phase::release);
    }
  };

  c10::IValue take_results(BlockRunner& top) {
    const std::size_t count = content->blocks[0].outputs.size();
    if (count == 1) return top.take_output(0);
    std::vector<c10::IValue> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(top.take_output(i));
    return join_results(std::move(all));
  }

  // Outputs that are kept from call to call are of the modes of the last one: dtypes of some results depend
  // on the default dtype (true division of integers, factory functions), and inference mode makes tensors of
  // its own.
  void obey_modes() {
    const ThreadModes modes = ThreadModes::now();
    const auto dtype = c10::get_default_dtype_as_scalartype();
    machine.frame.dispatches = modes.autocast() || replay::Environment::memory_is_filled();
    if (modes == modes_ && dtype == default_dtype_) return;
    for (NodeState& node : machine.frame.states) node.valid = false;
    modes_ = modes;
    default_dtype_ = dtype;
  }

  std::shared_ptr<void> observed_;
  std::size_t argument_count_;
  bool may_replay_;
  bool follows_weights_;
  bool replays_at_once_ = may_replay_ && !follows_weights_;
  std::size_t turn_ = 0;  // of the weight whose elements are compared in the next call
  ThreadModes modes_ = ThreadModes::now();
  at::ScalarType default_dtype_ = c10::get_default_dtype_as_scalartype();
  std::atomic<bool> busy_ = false;
};

}  // namespace sr::detail
