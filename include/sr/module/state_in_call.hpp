// Gives a call on the general path, or a recording, the state, and stores the new state. After the call, the
// state shares no memory with the caller's tensors.
#pragma once

#include <cstddef>
#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/session_state.hpp>

namespace sr::detail {

// The module and the state must outlive it, and the caller must hold the StateUse.
class StateInCall {
 public:
  // `argument(i)` is argument i of the call.
  template <class ArgumentAt>
  StateInCall(const PreparedModule& module, SessionState& state, const ArgumentAt& argument)
      : module_(module), state_(state) {
    std::unordered_set<const void*> containers;
    for (const c10::IValue& value : state.values().variables()) {
      add_identities(value, of_state_);
      if (!value.isTensor()) add_containers(value, containers);
    }
    FreshCopies copies(containers);
    for (const c10::IValue& value : state.values().variables()) variables_.push_back(copies(value));
    for (const std::size_t input : module.changed_inputs) changed_.push_back(argument(input));
    if (module.assigned.empty()) return;
    for (std::size_t i = 0; i < module.schema.arguments().size(); ++i)
      add_identities(argument(i), of_others_);
  }

  // Returns the values that the call reads. Containers are copies, so a call that throws does not change the
  // containers of the state.
  const std::vector<c10::IValue>& variables() const { return variables_; }

  // Splits the outputs of the top block into the result, which it returns, and the new values of variables.
  // Neither the result nor a list or dictionary of the arguments then shares memory with the state.
  // `constants` are the constants that the call has read.
  c10::IValue finish(std::vector<c10::IValue> outputs, const std::vector<c10::IValue>& constants) {
    const auto end = outputs.begin() + static_cast<std::ptrdiff_t>(module_.result_count());
    std::vector<c10::IValue> assigned(std::make_move_iterator(end), std::make_move_iterator(outputs.end()));
    outputs.erase(end, outputs.end());
    outputs.insert(outputs.end(), changed_.begin(), changed_.end());  // which keep their identity
    if (!module_.folded.empty()) {
      FreshCopies copies(module_.folded);
      for (c10::IValue& value : outputs) value = copies(value);
    }
    copy_shared(outputs, of_state_);
    if (!assigned.empty()) {
      for (const c10::IValue& value : constants) add_identities(value, of_others_);
      for (const c10::IValue& value : outputs) add_identities(value, of_others_);
      for (const void* const identity : of_state_) of_others_.erase(identity);
      copy_shared(assigned, of_others_);
      assigned_ = std::move(assigned);
    }
    outputs.resize(outputs.size() - changed_.size());
    return join_results(std::move(outputs));
  }
  // Gives the variables that the call assigns their new values.
  void commit() { state_.assign(module_.assigned, std::move(assigned_), module_.separates_assigned); }

 private:
  static void add_containers(const c10::IValue& value, std::unordered_set<const void*>& containers) {
    add_identities(value, containers);
    each_tensor(value, [&](const at::Tensor& tensor) { containers.erase(identity_of(tensor)); });
  }

  // Replaces what has one of the identities by copies.
  static void copy_shared(std::vector<c10::IValue>& values, const std::unordered_set<const void*>& shared) {
    FreshCopies copies(shared);
    for (const c10::IValue& value : values) copies.copy_only_parts_of(value);
    for (c10::IValue& value : values) value = copies(value);
  }

  const PreparedModule& module_;
  SessionState& state_;
  std::vector<c10::IValue> variables_, assigned_;
  std::vector<c10::IValue> changed_;  // arguments whose lists or dictionaries the call may change
  std::unordered_set<const void*> of_state_, of_others_;  // identities
};

}  // namespace sr::detail
