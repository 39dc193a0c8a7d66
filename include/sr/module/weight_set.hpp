// The values of the weights of a module at one time, and whether they have changed since they were read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/base/identity.hpp>
#include <sr/frontend/weight_source.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/kernels/packed_weights.hpp>
#include <sr/module/shared_programs.hpp>
#include <sr/module/weight_sample.hpp>
#include <sr/module/weight_stamps.hpp>

namespace sr {

class ModuleWeights;

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
  // `constants` are indexed by slot; those of weights are read anew. `stamped` says whether changes of
  // weights by other holders are to be noticed, `with_gradients` whether weights that require gradients still
  // do so in the set. Throws UnsupportedOpError if a weight is no longer a dense tensor on the CPU.
  WeightSet(std::vector<c10::IValue> constants, const std::vector<Weight>& weights, bool stamped,
            bool with_gradients)
      : constants_(std::move(constants)) {
    ElementsByWeight elements_by_weight;
    for (const Weight& weight : weights) {
      const c10::IValue& value = weight.source.now();
      check(weight, value);
      if (stamped && (weight.is_returned || !weight.source.is_private()))
        stamp(weight.source, value, elements_by_weight);
      // An alias keeps its storage even if the caller's tensor is given another one while a call runs.
      constants_[weight.slot] = value.isTensor() && !weight.is_returned
                                    ? c10::IValue(detail::alias_of(value.toTensor(), with_gradients))
                                    : detail::without_gradients(value);
    }
    for (std::size_t i = 0; i < kElements; ++i) {
      for (const auto& elements : elements_by_weight) {
        if (i < elements.size()) elements_.push_back(elements[i]);
      }
    }
  }

  const std::vector<c10::IValue>& constants() const { return constants_; }
  // The weights of a forked body, which belong to a call with these. Null if the body has no weights.
  std::shared_ptr<const WeightSet> of_body(const ModuleWeights* body) const {
    const auto found = bodies_.find(body);
    return found != bodies_.end() ? found->second : nullptr;
  }
  // Weights in the layout that kernels read. Thread-safe.
  replay::PackedWeights& packed() const { return packed_; }
  // What runtimes with these weights have recorded: calls, and a block of the module. Thread-safe.
  replay::SharedPrograms& programs() const { return programs_; }
  replay::SharedPrograms& programs_of_block(std::uint32_t block) const {
    return programs_of_blocks_.of(block);
  }

  // True if no weight was written, moved or replaced. Writes that change no version counter
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

  // Compares all sampled elements, too.
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
    throw UnsupportedOpError(
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
  std::unordered_map<const ModuleWeights*, std::shared_ptr<const WeightSet>> bodies_;
  std::uint64_t generation_ = 0;
  mutable replay::PackedWeights packed_;
  mutable replay::SharedPrograms programs_;
  mutable replay::BlockPrograms programs_of_blocks_;
};

}  // namespace sr
