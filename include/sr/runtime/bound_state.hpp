// What a BoundCall is made of.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/executor/arguments.hpp>
#include <sr/executor/copied_results.hpp>
#include <sr/replay/trace/record.hpp>
#include <sr/runtime/bound_program.hpp>
#include <sr/runtime/state_calls.hpp>
#include <sr/runtime/unplanned_calls.hpp>

namespace sr::detail {

class BoundState {
 public:
  // `outputs` may be empty: then they are made. Makes one call, on a copy of the state if the module has one.
  BoundState(const std::shared_ptr<const PreparedModule>& module, const std::shared_ptr<SessionState>& state,
             const memory::PlannerOps& planner, std::vector<c10::IValue> args, const KeywordArgs& kwargs,
             std::vector<at::Tensor> outputs)
      : runtime_(module, state, planner, ObserverHooks{}, nullptr),
        args_(module->schema.arguments().size()),
        outputs_(std::move(outputs)) {
    bind_arguments(module->schema, std::span(args), &kwargs, [&](std::size_t i, c10::IValue&& value) {
      // The caller keeps the containers, and may change them.
      args_[i] = replay::detail::snapshot(value);
    });
    std::vector<c10::IValue> moved_from;  // and may be changed
    for (const c10::IValue& arg : args_) moved_from.push_back(replay::detail::snapshot(arg));
    const c10::IValue result = runtime_.rehearse(moved_from, nullptr);
    if (outputs_.empty()) make_outputs(result);
    copy_all_results(result, outputs_);
    is_replayed_ = runtime_.bind(bound_, args_, outputs_);
  }
  BoundState(const BoundState&) = delete;
  BoundState& operator=(const BoundState&) = delete;

  void run() {
    const Running running(running_);
    if (!runtime_.has_current_weights() || !bound_.holds()) [[unlikely]]
      return run_anew();
    if (!runtime_.run_bound(bound_, args_, outputs_)) [[unlikely]] {
      bound_.unbind();
      runtime_.run_and_copy(args_, outputs_, nullptr);
    }
  }

  const std::vector<c10::IValue>& arguments() const { return args_; }
  const std::vector<at::Tensor>& outputs() const { return outputs_; }
  bool is_replayed() const { return is_replayed_; }
  const RuntimeState& runtime() const { return runtime_; }

 private:
  // A plain flag: a second thread that calls is the caller's mistake, which this finds in most cases.
  class Running {
   public:
    explicit Running(std::atomic<bool>& flag) : flag_(&flag) {
      if (flag.load(std::memory_order_relaxed)) [[unlikely]]
        throw BusyError(
            "This BoundCall is running already. It belongs to one thread at a time: bind one for each.");
      flag.store(true, std::memory_order_relaxed);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { flag_->store(false, std::memory_order_relaxed); }

   private:
    std::atomic<bool>* flag_;
  };

  void make_outputs(const c10::IValue& result) {
    each_tensor(result, [&](const at::Tensor& tensor) { outputs_.push_back(at::empty_like(tensor)); });
    if (outputs_.empty())
      throw ArgumentError("The model returns no tensor, so that its results cannot be bound to any.");
  }

  [[gnu::noinline]] void run_anew() {
    bound_.unbind();
    const std::uint64_t replayed = runtime_.replayed_calls();
    runtime_.run_into(args_, outputs_, nullptr);
    // With a state no program can be bound.
    is_replayed_ = runtime_.state() == nullptr ? runtime_.bind(bound_, args_, outputs_)
                                               : runtime_.replayed_calls() != replayed;
  }

  RuntimeState runtime_;
  std::vector<c10::IValue> args_;
  std::vector<at::Tensor> outputs_;
  BoundProgram bound_;        // to args_ and outputs_; a program of runtime_
  bool is_replayed_ = false;  // when it was bound last
  std::atomic<bool> running_ = false;
};

}  // namespace sr::detail
