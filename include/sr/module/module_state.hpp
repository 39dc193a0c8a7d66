// Holds the state of a module: the buffers, attributes and constants that a call may write and a later call
// may read. All runtimes of a StaticModule share one ModuleState. A clone of the StaticModule has a copy of
// it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/module/weight_set.hpp>

namespace sr {

class ModuleState {
 public:
  // `known` as in LoadedGraph: storages and containers that a result may share.
  ModuleState(const std::vector<StateVariable>& variables, std::unordered_set<const void*> known)
      : known_(std::move(known)) {
    for (const StateVariable& variable : variables) {
      variables_.push_back({variable, nullptr});
      if (!variable.source.is_private()) variables_.back().seen = stamp_of(variable);
    }
  }
  ModuleState(const ModuleState&) = delete;
  ModuleState& operator=(const ModuleState&) = delete;

  // Gives variables whose source the caller has changed since the last call the values of the source. Other
  // variables keep what calls have written. Throws UnsupportedOpError if the source has other sizes or
  // another dtype. The caller must hold a StateUse.
  void follow() {
    for (Followed& followed : variables_) {
      if (followed.seen == nullptr || followed.seen->holds()) continue;
      copy(followed.variable);
      followed.seen = stamp_of(followed.variable);
    }
  }

  const std::unordered_set<const void*>& known() const { return known_; }
  // The variables, with `copies(own)` as their values.
  template <class Copies>
  std::vector<StateVariable> variables(Copies&& copies) const {
    std::vector<StateVariable> copied;
    for (const Followed& followed : variables_)
      copied.push_back({followed.variable.source, copies(followed.variable.own)});
    return copied;
  }

 private:
  friend class StateUse;

  struct Followed {
    StateVariable variable;
    std::unique_ptr<const WeightSet> seen;  // the source when it was copied; null if no one can change it
  };

  // A set of one weight knows all ways in which a caller may change it.
  static std::unique_ptr<const WeightSet> stamp_of(const StateVariable& variable) {
    return std::make_unique<const WeightSet>(std::vector<c10::IValue>(1),
                                             std::vector<Weight>{{variable.source, 0, true}},
                                             /*stamped=*/true, /*with_gradients=*/false);
  }

  static void copy(const StateVariable& variable) {
    std::vector<at::Tensor> from, to;
    detail::each_tensor(variable.source.now(), [&](const at::Tensor& tensor) { from.push_back(tensor); });
    detail::each_tensor(variable.own, [&](const at::Tensor& tensor) { to.push_back(tensor); });
    bool fits = from.size() == to.size();
    for (std::size_t i = 0; fits && i < from.size(); ++i)
      fits = detail::can_be_weight(from[i]) && from[i].sizes() == to[i].sizes() &&
             from[i].dtype() == to[i].dtype();
    if (!fits) {
      throw UnsupportedOpError(
          "The tensor '" + variable.source.name() +
          "', which the model may write, now has other sizes, another dtype or another device "
          "than when the module was loaded. Make a new StaticModule.");
    }
    const at::NoGradGuard no_grad;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  }

  std::atomic<bool> is_used_ = false;
  std::vector<Followed> variables_;
  std::unordered_set<const void*> known_;
};

// Held by a call of a module with state, so that no other call reads or writes the state meanwhile.
class StateUse {
 public:
  // `state` may be null, for a module without state; it must outlive this object. Throws BusyError if another
  // call of the module is running.
  [[gnu::always_inline]] explicit StateUse(ModuleState* state) : state_(state) {
    if (state != nullptr) [[unlikely]]
      begin();
  }
  [[gnu::always_inline]] ~StateUse() {
    if (state_ != nullptr) [[unlikely]]
      state_->is_used_.store(false, std::memory_order_release);
  }
  StateUse(const StateUse&) = delete;
  StateUse& operator=(const StateUse&) = delete;

 private:
  [[gnu::noinline]] void begin() {
    if (state_->is_used_.exchange(true, std::memory_order_acquire)) {
      throw BusyError(
          "Another call of this module is running. The model writes its buffers or attributes, so one call "
          "must end before the next one begins. Give each stream of calls a copy of the module (clone()), "
          "which has its own state.");
    }
    try {
      state_->follow();
    } catch (...) {
      state_->is_used_.store(false, std::memory_order_release);
      throw;
    }
  }

  ModuleState* state_;
};

}  // namespace sr
