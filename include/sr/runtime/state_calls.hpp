// Calls of a runtime that write the state of the module or change arguments: definitions of members of
// RuntimeState.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/kept_bytes.hpp>
#include <sr/executor/arguments.hpp>
#include <sr/executor/copied_results.hpp>
#include <sr/executor/counted_writes.hpp>
#include <sr/module/session_state.hpp>
#include <sr/module/state_in_call.hpp>
#include <sr/runtime/runtime_state.hpp>

namespace sr::detail {

[[gnu::noinline]] inline void RuntimeState::run_into_on(SessionState& state, c10::ArrayRef<c10::IValue> args,
                                                        c10::ArrayRef<at::Tensor> outputs,
                                                        const CallOptions* options) {
  const Entry entry(*this, options, &state);
  prepares_replay();
  c10::SmallVector<c10::IValue, 8> values(args.begin(), args.end());
  std::vector<c10::IValue> bound;
  answer_with_state(bind(values, nullptr, bound), CallMode::usual, &outputs);
}

// The variables are further arguments of programs. If `outputs` is not null, the results are written there,
// and the returned value has no meaning.
[[gnu::noinline]] inline c10::IValue RuntimeState::answer_with_state(std::span<c10::IValue> args,
                                                                     CallMode mode, Outputs outputs) {
  const std::vector<c10::IValue>& variables = used_->values().variables();
  c10::SmallVector<c10::IValue, 12> all(std::make_move_iterator(args.begin()),
                                        std::make_move_iterator(args.end()));
  all.append(variables.begin(), variables.end());
  const std::span<c10::IValue> given = std::span<c10::IValue>(all).first(args.size());
  // Variables that share memory cannot be told apart by their sizes.
  const bool is_shared = used_->values().is_shared();
  if (is_shared) [[unlikely]]
    replayer_.note_shared_state();
  const bool may_replay = may_replay_ && mode != CallMode::general && !is_shared;
  replay::Program* const program = may_replay ? replayer_.find(all) : nullptr;
  c10::IValue result;
  if (program != nullptr && replay_with_state(*program, all, outputs, result)) return result;
  const bool at_once = mode == CallMode::record;
  if (!at_once) counters_->note_unplanned();
  return counters_->noted([&] {
    if (may_replay && program == nullptr) {
      if (auto recording = replayer_.begin_recording(all, at_once))
        return record_with_state(all, given, std::move(*recording), outputs);
    }
    return general(given, outputs);
  });
}

[[gnu::noinline]] inline bool RuntimeState::replay_with_state(replay::Program& program,
                                                              std::span<const c10::IValue> all,
                                                              Outputs outputs, c10::IValue& result) {
  // What such a program has written when data end it could not be undone.
  if (program.may_end_behind_write && program.unlogged_bytes() > kMostKeptBytes) return false;
  if (!replayer_.may_change_arguments(program, all)) return false;
  static const std::vector<std::size_t> kNone;
  const CountedWrites counted(program.written_arguments.empty() ? kNone : module_->written_inputs,
                              [&](std::size_t i) -> const c10::IValue& { return all[i]; });
  bool has_result = false;
  try {
    has_result = replayer_.attempt(program, [&] {
      return replayer_.run_with_state(program, all, outputs, general_.frame().call, result);
    });
  } catch (...) {
    const bool is_lost = replayer_.has_lost_state();
    if (used_ != nullptr) used_->set_broken(is_lost);
    throw;
  }
  if (used_ == nullptr) return has_result;
  if (replayer_.has_lost_state()) {
    used_->set_broken(true);
    throw_broken();
  }
  if (has_result) used_->assign(module_->assigned, replayer_.take_assigned(), module_->separates_assigned);
  return has_result;
}

inline c10::IValue RuntimeState::record_with_state(std::span<c10::IValue> all, std::span<c10::IValue> given,
                                                   replay::Recording recording, Outputs outputs) {
  bind_arguments(module_->schema, given, nullptr, [](std::size_t, c10::IValue&&) {});
  const auto argument = [&](std::size_t i) -> const c10::IValue& { return given[i]; };
  const CountedWrites counted(module_->written_inputs, argument);
  StateGuard guard(used_, module_->writes_state);
  StateInCall of_state(*module_, *used_, argument);
  std::ranges::copy(of_state.variables(), all.begin() + static_cast<std::ptrdiff_t>(given.size()));
  std::optional<std::vector<c10::IValue>> recorded =
      replayer_.record(all, general_.frame().call, std::move(recording));
  c10::IValue result;
  if (recorded) {
    result = of_state.finish(std::move(*recorded), weights_->constants());
    if (outputs != nullptr) copy_all_results(result, *outputs);
    of_state.commit();
  }
  guard.keep();
  if (recorded) return result;
  replay::Program* const program = replayer_.find(all);  // which another runtime may have made
  return program != nullptr && replay_with_state(*program, all, outputs, result) ? result
                                                                                 : general(given, outputs);
}

}  // namespace sr::detail
