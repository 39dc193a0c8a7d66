// Calls of a runtime that no program serves: they are recorded, or run on the general path. Definitions of
// members of RuntimeState.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/executor/arguments.hpp>
#include <sr/executor/copied_results.hpp>
#include <sr/executor/counted_writes.hpp>
#include <sr/module/session_state.hpp>
#include <sr/runtime/runtime_state.hpp>

namespace sr::detail {

inline std::unique_ptr<SessionState> RuntimeState::copy_of_state() const {
  if (state_ == nullptr) return nullptr;
  const StateUse use(state_.get());
  return std::make_unique<SessionState>(state_->values().copy());
}

inline c10::IValue RuntimeState::rehearse(std::span<c10::IValue> args, const KeywordArgs* kwargs) {
  const std::unique_ptr<SessionState> trial = copy_of_state();
  return run({args, kwargs, nullptr, CallMode::record, trial.get()});
}

inline void RuntimeState::reserve(std::span<c10::IValue> args, const KeywordArgs& kwargs) {
  {
    const std::unique_ptr<SessionState> trial = copy_of_state();
    const Entry entry(*this, nullptr, trial.get());
    prepares_replay();
    std::vector<c10::IValue> copies(args.begin(), args.end());  // which the call moves from
    general_.run(copies, &kwargs, replayer_, trial.get());
    general_.reserve();
  }
  if (may_replay_) rehearse(args, &kwargs);
}

inline bool RuntimeState::bind(BoundProgram& bound, c10::ArrayRef<c10::IValue> args,
                               c10::ArrayRef<at::Tensor> outputs) {
  const Entry entry(*this, nullptr, state_.get());
  const bool has_no_state = prepares_replay();
  if (!may_replay_) return false;
  if (!has_no_state) {
    std::vector<c10::IValue> all = args.vec();
    const std::vector<c10::IValue>& variables = state_->values().variables();
    all.insert(all.end(), variables.begin(), variables.end());
    return replayer_.find(all) != nullptr;
  }
  replay::Program* const program = replayer_.find(std::span(args.data(), args.size()));
  const bool is_plain = program != nullptr && !program->changes_arguments;
  if (is_plain && replayer_.bind(*program, outputs)) bound.bind(replayer_, *program, args, outputs);
  return program != nullptr;
}

[[gnu::noinline]] inline void RuntimeState::run_and_copy(c10::ArrayRef<c10::IValue> args,
                                                         c10::ArrayRef<at::Tensor> outputs,
                                                         const CallOptions* options) {
  if (state_ != nullptr) return run_into_on(*state_, args, outputs, options);
  c10::SmallVector<c10::IValue, 8> values(args.begin(), args.end());
  const CallMode mode = replayer_.has_failed() ? CallMode::general : CallMode::usual;
  const c10::IValue result = run({values, nullptr, options, mode});
  counters_->noted([&] { copy_all_results(result, outputs); });
}

inline c10::IValue RuntimeState::record_or_general(std::span<c10::IValue> args, CallMode mode,
                                                   bool may_record) {
  const bool at_once = mode == CallMode::record;
  if (!at_once) counters_->note_unplanned();
  return counters_->noted([&] {
    if (may_replay_ && may_record) {
      if (auto recording = replayer_.begin_recording(args, at_once))
        return record(args, std::move(*recording));
    }
    return general(args);
  });
}

inline c10::IValue RuntimeState::record(std::span<c10::IValue> args, replay::Recording recording) {
  bind_arguments(module_->schema, args, nullptr, [](std::size_t, c10::IValue&&) {});
  const auto argument = [&](std::size_t i) -> const c10::IValue& { return args[i]; };
  const CountedWrites counted(module_->written_inputs, argument);
  std::optional<std::vector<c10::IValue>> outputs =
      replayer_.record(args, general_.frame().call, std::move(recording));
  if (outputs) return fresh_copies(*module_, argument, join_results(std::move(*outputs)));
  replay::Program* const program = replayer_.find(args);  // which another runtime may have made
  c10::IValue result;
  return program != nullptr && replay(*program, args, result) ? result : general(args);
}

}  // namespace sr::detail
