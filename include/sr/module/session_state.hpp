// Holds the state of one stream of calls: the values of a module's variables between calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/forks.hpp>
#include <sr/base/identity.hpp>
#include <sr/base/kept_bytes.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/module/state_values.hpp>
#include <sr/module/weight_set.hpp>

namespace sr {

// Used by one call at a time, which holds a StateUse.
class SessionState {
 public:
  explicit SessionState(StateValues values) : values_(std::move(values)) {}
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  // From now on, changes that the caller makes to the sources of the variables replace their values.
  void follow(const std::vector<StateVariable>& variables) {
    for (const StateVariable& variable : variables) {
      Followed& followed = followed_.emplace_back(Followed{variable.source, nullptr, variable.is_written});
      const c10::IValue& value = variable.source.now();
      if (!variable.source.is_private() && detail::can_be_weight(value))
        followed.seen = stamp_of(variable.source);
    }
  }

  const StateValues& values() const { return values_; }

  // Gives the variables at `positions` new values. `separates` says that calls never write these variables in
  // place. New values that share memory with each other are then copied.
  void assign(const std::vector<std::size_t>& positions, std::vector<c10::IValue> made, bool separates) {
    values_.assign(positions, std::move(made));
    if (separates) values_.separate(positions);
  }
  void restore(StateValues values) {
    values_ = std::move(values);
    is_broken_ = false;
  }

  // Marks the state as partly written. A StateUse of a broken state throws StateError.
  void set_broken(bool is_broken) { is_broken_ = is_broken; }

 private:
  friend class StateUse;

  struct Followed {
    WeightSource source;
    std::unique_ptr<const WeightSet> seen;  // the source when it was copied; null if it is not followed
    bool is_written = false;                // in place, by calls
  };

  // Returns a set of one weight, whose holds() detects every kind of change by the caller.
  static std::unique_ptr<const WeightSet> stamp_of(const WeightSource& source) {
    return std::make_unique<const WeightSet>(std::vector<c10::IValue>(1),
                                             std::vector<Weight>{{source, 0, true}},
                                             /*stamped=*/true, /*with_gradients=*/false);
  }

  // Throws UnsupportedOpError if a source has other sizes or another dtype than before.
  void take_changes() {
    for (std::size_t i = 0; i < followed_.size(); ++i) {
      Followed& followed = followed_[i];
      if (followed.seen == nullptr || followed.seen->holds()) continue;
      take_change(followed, i);
      followed.seen = stamp_of(followed.source);
    }
  }

  void take_change(const Followed& followed, std::size_t variable) {
    const c10::IValue& now = followed.source.now();
    if (!followed.is_written && detail::can_be_weight(now))
      return values_.assign({variable}, StateValues({now}).copy().take_variables());
    const c10::IValue& own = values_.variables()[variable];
    std::vector<at::Tensor> from, to;
    detail::each_tensor(now, [&](const at::Tensor& tensor) { from.push_back(tensor); });
    detail::each_tensor(own, [&](const at::Tensor& tensor) { to.push_back(tensor); });
    bool fits = from.size() == to.size();
    for (std::size_t i = 0; fits && i < from.size(); ++i)
      fits = detail::can_be_weight(from[i]) && from[i].sizes() == to[i].sizes() &&
             from[i].dtype() == to[i].dtype();
    if (!fits) {
      throw UnsupportedOpError(
          "The tensor '" + followed.source.name() +
          "', which the model may write, now has other sizes, another dtype or another device "
          "than when the module was loaded. Make a new StaticModule.");
    }
    const at::NoGradGuard no_grad;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  }

  StateValues values_;
  bool is_broken_ = false;
  // 0 if no call is running. Otherwise 1 + the number of times that the process had forked when the call
  // began.
  std::atomic<unsigned> used_by_ = 0;
  std::vector<Followed> followed_;  // by variable; empty if no source is followed
};

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_broken() {
  throw StateError(
      "The state is half written: a call that writes more than 64 KiB of it in place has ended early, or "
      "another thread was in a call when this process was forked. Set it anew: reset() or load().");
}

// Held by a call, so that no other call reads or writes the state meanwhile.
class StateUse {
 public:
  // `allowed` is for callers that replace the whole state.
  enum class Broken : std::uint8_t { refused, allowed };

  // `state` may be null, for a module without state; it must outlive this object. Throws BusyError if another
  // call uses the state, and StateError if an earlier call has left it half written.
  [[gnu::always_inline]] explicit StateUse(SessionState* state, Broken broken = Broken::refused)
      : state_(state) {
    if (state != nullptr) [[unlikely]]
      begin(broken);
  }
  [[gnu::always_inline]] ~StateUse() {
    if (state_ != nullptr) [[unlikely]]
      state_->used_by_.store(0, std::memory_order_release);
  }
  StateUse(const StateUse&) = delete;
  StateUse& operator=(const StateUse&) = delete;

 private:
  [[gnu::noinline]] void begin(Broken broken) {
    const unsigned user = 1 + detail::forks_so_far();
    const unsigned other = state_->used_by_.exchange(user, std::memory_order_acquire);
    if (other == user) {
      throw BusyError(
          "Another call with this state is running. The model writes its buffers or attributes, so one call "
          "must end before the next one begins. Give each stream of calls a session (session()), which has "
          "its own state.");
    }
    // A thread of the parent was in a call when this process was forked, and will not end it here.
    if (other != 0) state_->is_broken_ = true;
    try {
      if (state_->is_broken_ && broken == Broken::refused) throw_broken();
      state_->take_changes();
    } catch (...) {
      state_->used_by_.store(0, std::memory_order_release);
      throw;
    }
  }

  SessionState* state_;
};

// Copies the state before a call that may write it in place, and restores it if the call throws. If the state
// is larger than kMostKeptBytes, a call that throws leaves it broken.
class StateGuard {
 public:
  // `state` may be null.
  StateGuard(SessionState* state, bool may_write) : state_(may_write ? state : nullptr) {
    if (state_ == nullptr) return;
    if (state_->values().bytes() <= kMostKeptBytes) {
      before_ = state_->values().copy();
    } else {
      state_->set_broken(true);
    }
  }
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;
  ~StateGuard() {
    if (state_ != nullptr && before_) state_->restore(std::move(*before_));
  }

  // Keeps what the call has written. Call this if it did not throw.
  void keep() {
    if (state_ != nullptr) state_->set_broken(false);
    state_ = nullptr;
  }

 private:
  SessionState* state_;
  std::optional<StateValues> before_;
};

}  // namespace sr
