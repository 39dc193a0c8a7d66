// Makes a new WeightSet when weights of a module have changed or are replaced, once for all of its runtimes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/fork_safe_mutex.hpp>
#include <sr/frontend/state_entry.hpp>
#include <sr/module/weight_set.hpp>
#include <sr/module/weight_update.hpp>

namespace sr {

// Thread-safe.
class ModuleWeights {
 public:
  // The weights of a forked body, which are a subset of the module's and change with them.
  struct Body {
    static constexpr std::size_t kNotOuter = static_cast<std::size_t>(-1);
    std::shared_ptr<ModuleWeights> weights;
    std::vector<std::size_t> same;  // by weight of the body: its position in the module, or kNotOuter
  };

  // `state` names the weights. Without weights there is only one set. `with_gradients` as for a WeightSet.
  ModuleWeights(std::vector<c10::IValue> constants, std::vector<Weight> weights,
                std::optional<std::vector<StateEntry>> state, std::vector<Body> bodies, bool with_gradients)
      : with_gradients_(with_gradients),
        constants_(std::move(constants)),
        weights_(std::move(weights)),
        state_(std::move(state)),
        bodies_(std::move(bodies)),
        current_(make(weights_)) {}
  ModuleWeights(const ModuleWeights&) = delete;
  ModuleWeights& operator=(const ModuleWeights&) = delete;

  std::shared_ptr<const WeightSet> current() const {
    const std::scoped_lock lock(mutex_);
    return current_;
  }

  // True if a runtime may keep its set. `turn` belongs to the runtime, see WeightSet::holds.
  [[gnu::always_inline]] bool is_current(const WeightSet& set, std::size_t& turn) const {
    return set.generation_ == generation_.load(std::memory_order_relaxed) && set.holds(turn);
  }

  // The set of the current weights. Throws UnsupportedOpError as WeightSet does.
  std::shared_ptr<const WeightSet> renewed() {
    const std::scoped_lock lock(mutex_);
    if (current_->holds()) return current_;  // another runtime was first
    publish(make(weights_));
    return current_;
  }

  // Makes every runtime of the module read all weights again at its next call. Does nothing if the caller
  // cannot change the weights.
  void refresh() {
    if (weights_.empty()) return;
    const std::scoped_lock one_at_a_time(update_mutex_);
    const std::scoped_lock lock(mutex_);
    publish(make(weights_));
  }

  // Replaces weights by copies of the given tensors (see StaticModule::update). If it throws, no weight
  // changes.
  void update(const StateDict& given, bool strict) {
    const std::scoped_lock one_at_a_time(update_mutex_);
    // Only updates change `weights_`, so that calls and new runtimes need not wait while tensors are copied.
    std::vector<Weight> updated = detail::updated_weights(weights_, state_, given, strict);
    std::shared_ptr<WeightSet> made = make(updated);
    const std::scoped_lock lock(mutex_);
    publish(std::move(made));
    weights_ = std::move(updated);
  }

  // The weights that updates have replaced, by name.
  StateDict replaced() const {
    const std::scoped_lock lock(mutex_);
    StateDict tensors;
    if (!state_) return tensors;
    for (const StateEntry& entry : *state_) {
      if (entry.use != StateEntry::Use::followed) continue;
      const WeightSource& source = weights_[entry.weight].source;
      if (source.is_replaced()) tensors.emplace(entry.name, source.now().toTensor());
    }
    return tensors;
  }

  // True if a weight has a holder besides the module.
  bool is_shared() const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(weights_, [](const Weight& weight) { return !weight.source.is_private(); });
  }

  // The number of changes since the module was loaded.
  std::uint64_t changes() const { return generation_.load(std::memory_order_relaxed); }
  std::size_t count() const { return weights_.size(); }
  // Before any update.
  const std::vector<Weight>& weights() const { return weights_; }

 private:
  static constexpr int kAttempts = 4;

  // Tries again if a weight was written meanwhile: the set would hold old values in one place and new ones in
  // another.
  std::shared_ptr<WeightSet> make(const std::vector<Weight>& weights) const {
    for (int attempt = 1;; ++attempt) {
      auto made = std::make_shared<WeightSet>(constants_, weights, /*stamped=*/true, with_gradients_);
      if (attempt < kAttempts && !made->holds()) continue;
      for (const Body& body : bodies_)
        made->bodies_.emplace(body.weights.get(), body.weights->made_from(*made, weights, body.same));
      return made;
    }
  }

  // The caller holds the lock.
  void publish(std::shared_ptr<WeightSet> made) {
    made->generation_ = generation_.load(std::memory_order_relaxed) + 1;
    current_ = std::move(made);
    generation_.store(current_->generation_, std::memory_order_release);
  }

  // The set of a forked body whose module has the set `outer`. It is not stamped: a call takes it together
  // with `outer`.
  std::shared_ptr<const WeightSet> made_from(const WeightSet& outer, const std::vector<Weight>& outer_weights,
                                             const std::vector<std::size_t>& same) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (same[i] != Body::kNotOuter)
        weights_[i].source = WeightSource(outer.constants()[outer_weights[same[i]].slot]);
    }
    auto made = std::make_shared<WeightSet>(constants_, weights_, /*stamped=*/false, with_gradients_);
    for (const Body& body : bodies_)
      made->bodies_.emplace(body.weights.get(), body.weights->made_from(*made, weights_, body.same));
    current_ = made;
    return made;
  }

  bool with_gradients_;
  std::vector<c10::IValue> constants_;  // as loaded
  std::vector<Weight> weights_;
  std::optional<std::vector<StateEntry>> state_;
  std::vector<Body> bodies_;
  detail::ForkSafeMutex update_mutex_;  // locked before mutex_
  mutable detail::ForkSafeMutex mutex_;
  std::shared_ptr<const WeightSet> current_;
  std::atomic<std::uint64_t> generation_ = 0;
};

}  // namespace sr
