// The weights of a module, and whether they have changed since they were last read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/fork_safe_mutex.hpp>
#include <sr/base/identity.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/module/weight_sample.hpp>
#include <sr/module/weight_stamps.hpp>

namespace sr {

// A weight, and its slot in a runtime's table of values.
struct Weight {
  WeightSource source;
  Slot slot = 0;
  bool is_returned = false;  // the caller may be given it, and expects the tensor itself
};

// The constants of a module at one time, and everything that is computed from the values of weights.
// Immutable but for the packed weights. Runtimes and their programs share it; it keeps the storages alive
// whose addresses they hold.
class WeightSet {
 public:
  // `constants` are indexed by slot; those of weights are read anew. `stamped`: whether changes of the
  // weights are to be noticed. Throws UnsupportedOp if a weight is no longer a dense tensor on the CPU.
  WeightSet(std::vector<c10::IValue> constants, const std::vector<Weight>& weights, bool stamped)
      : constants_(std::move(constants)) {
    ElementsByWeight elements_by_weight;
    for (const Weight& weight : weights) {
      const c10::IValue& value = weight.source.now();
      check(weight, value);
      if (stamped) stamp(weight.source, value, elements_by_weight);
      // An alias keeps its storage even if the caller's tensor is given another one while a call runs.
      constants_[weight.slot] = value.isTensor() && !weight.is_returned
                                    ? c10::IValue(value.toTensor().detach())
                                    : detail::without_gradients(value);
    }
    for (std::size_t i = 0; i < kElements; ++i) {
      for (const auto& elements : elements_by_weight) {
        if (i < elements.size()) elements_.push_back(elements[i]);
      }
    }
  }

  const std::vector<c10::IValue>& constants() const { return constants_; }
  // Weights in the layout that kernels read. Thread-safe.
  replay::PackedWeights& packed() const { return packed_; }

  // Whether no weight was written, moved or replaced. Writes that change no version counter
  // (`p.data.mul_(2)`) are noticed in running statistics, in weights made in inference mode, and in one
  // sampled element a call; `turn` is the position of that element.
  [[gnu::always_inline]] bool holds(std::size_t& turn) const {
    if (!stamps_.hold()) [[unlikely]]
      return false;
    if (++turn >= elements_.size()) turn = 0;
    if (!elements_.empty() && !elements_[turn].holds()) [[unlikely]]
      return false;
    return !has_others_ || others_hold();
  }

  // The same with all sampled elements.
  bool holds() const {
    return stamps_.hold() && others_hold() &&
           std::ranges::all_of(elements_, [](const WeightElement& element) { return element.holds(); });
  }

 private:
  friend class ModuleWeights;

  // A list, tuple or dictionary of the caller, and the tensors that it held.
  struct Container {
    WeightSource source;
    std::vector<const c10::TensorImpl*> tensors;

    bool holds() const {
      std::size_t i = 0;
      bool same = true;
      detail::each_tensor(source.now(), [&](const at::Tensor& tensor) {
        same &= i < tensors.size() && tensors[i] == tensor.unsafeGetTensorImpl();
        ++i;
      });
      return same && i == tensors.size();
    }
  };

  static void check(const Weight& weight, const c10::IValue& value) {
    if (detail::can_be_weight(value)) return;
    const std::string name =
        weight.source.name().empty() ? "A weight" : "The weight '" + weight.source.name() + "'";
    std::string what = "is now a value of type " + value.type()->repr_str();
    if (value.isTensor() && value.toTensor().defined()) {
      what = "is now on " + value.toTensor().device().str() + " with layout " +
             c10::str(value.toTensor().layout());
    }
    throw UnsupportedOp(
        name + " " + what +
        "; it was a dense tensor on the CPU when the module was loaded. Make a new StaticModule.");
  }

  using ElementsByWeight = std::vector<c10::SmallVector<WeightElement, 3>>;
  static constexpr std::size_t kElements = 3;  // at most, of a weight

  void stamp(const WeightSource& source, const c10::IValue& value, ElementsByWeight& elements) {
    if (value.isTensor()) {
      return stamp(value.toTensor(), source.object(), source.attribute(), source.is_statistic(), elements);
    }
    has_others_ = true;
    Container& container = containers_.emplace_back(Container{source, {}});
    detail::each_tensor(value, [&](const at::Tensor& tensor) {
      container.tensors.push_back(tensor.unsafeGetTensorImpl());
      stamp(tensor, nullptr, 0, false, elements);
      kept_.push_back(tensor);
    });
  }

  void stamp(const at::Tensor& tensor, const c10::ivalue::Object* object, std::size_t attribute,
             bool is_statistic, ElementsByWeight& elements) {
    stamps_.add(tensor, object, attribute);
    const bool counts_writes = tensor.unsafeGetTensorImpl()->version_counter().enabled();
    if (counts_writes && !is_statistic) return elements.push_back(elements_of(tensor));
    uncounted_.emplace_back(tensor, is_statistic);
    has_others_ = true;
  }

  // Parts that few modules have.
  bool others_hold() const {
    return std::ranges::all_of(uncounted_, [](const WeightSample& sample) { return sample.holds(); }) &&
           std::ranges::all_of(containers_, [](const Container& container) { return container.holds(); });
  }

  WeightStamps stamps_;
  std::vector<WeightElement> elements_;  // first elements of all weights, then middle ones, then last ones
  bool has_others_ = false;              // of the next two
  std::vector<WeightSample> uncounted_;  // tensors to which writes are not counted
  std::vector<Container> containers_;
  std::vector<c10::IValue> constants_;
  std::vector<at::Tensor> kept_;  // elements of containers, which the caller may take out
  std::uint64_t generation_ = 0;
  mutable replay::PackedWeights packed_;
};

// Makes a new WeightSet when weights have changed, once for all runtimes of a module. Thread-safe.
class ModuleWeights {
 public:
  // Without weights there is only one set.
  ModuleWeights(std::vector<c10::IValue> constants, std::vector<Weight> weights)
      : constants_(std::move(constants)), weights_(std::move(weights)), is_followed_(true) {
    current_ = make();
  }
  ModuleWeights(const ModuleWeights&) = delete;
  ModuleWeights& operator=(const ModuleWeights&) = delete;

  std::shared_ptr<const WeightSet> current() const {
    const std::scoped_lock lock(mutex_);
    return current_;
  }

  // Whether a runtime may keep its set. `turn` belongs to the runtime, see WeightSet::holds.
  [[gnu::always_inline]] bool is_current(const WeightSet& set, std::size_t& turn) const {
    return set.generation_ == generation_.load(std::memory_order_relaxed) && set.holds(turn);
  }

  // The set of the current weights. Throws UnsupportedOp as WeightSet does.
  std::shared_ptr<const WeightSet> renewed() {
    const std::scoped_lock lock(mutex_);
    if (current_->holds()) return current_;  // another runtime was first
    publish(make());
    return current_;
  }

  // Makes every runtime read all weights anew with its next call. Does nothing if nobody can change them.
  void refresh() {
    if (weights_.empty()) return;
    const std::scoped_lock lock(mutex_);
    publish(make());
  }

  // The number of changes since the module was loaded.
  std::uint64_t changes() const { return generation_.load(std::memory_order_relaxed); }
  std::size_t count() const { return weights_.size(); }

  // Adds the weights of a forked body, which are a subset of these and change with them. `same` holds the
  // position among these of each weight of the body.
  void add_body(std::shared_ptr<ModuleWeights> body, std::vector<std::size_t> same) {
    body->is_followed_ = false;
    body->current_ = body->make();
    bodies_.push_back({std::move(body), std::move(same)});
  }
  static constexpr std::size_t kNotOuter = static_cast<std::size_t>(-1);  // in `same`: a constant of the body
  const std::vector<Weight>& weights() const { return weights_; }

 private:
  struct Body {
    std::shared_ptr<ModuleWeights> weights;
    std::vector<std::size_t> same;
  };
  static constexpr int kAttempts = 4;

  // Tries again if a weight was written meanwhile: the set would hold old values in one place and new ones in
  // another.
  std::shared_ptr<WeightSet> make() const {
    for (int attempt = 1;; ++attempt) {
      auto made = std::make_shared<WeightSet>(constants_, weights_, is_followed_);
      if (attempt == kAttempts || made->holds()) return made;
    }
  }

  // The caller holds the lock.
  void publish(std::shared_ptr<WeightSet> made) {
    made->generation_ = generation_.load(std::memory_order_relaxed) + 1;
    for (const Body& body : bodies_) body.weights->take(*made, weights_, body.same);
    current_ = std::move(made);
    generation_.store(current_->generation_, std::memory_order_release);
  }

  void take(const WeightSet& outer, const std::vector<Weight>& outer_weights,
            const std::vector<std::size_t>& same) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (same[i] != kNotOuter)
        weights_[i].source = WeightSource(outer.constants()[outer_weights[same[i]].slot]);
    }
    publish(make());
  }

  std::vector<c10::IValue> constants_;  // as loaded
  std::vector<Weight> weights_;
  bool is_followed_;
  std::vector<Body> bodies_;
  mutable detail::ForkSafeMutex mutex_;
  std::shared_ptr<const WeightSet> current_;
  std::atomic<std::uint64_t> generation_ = 0;
};

}  // namespace sr
