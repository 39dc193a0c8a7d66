// What rules of layouts work with. A rule says how sizes, strides and numbers that an operator returns follow
// from those that it is given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/replay/sizes/arithmetic.hpp>
#include <sr/replay/sizes/reshape.hpp>
#include <sr/replay/sizes/tensor_layout.hpp>

namespace sr::replay {

// One node that was recorded. What a rule asks for counts as understood; sizes that it does not ask for are
// pinned. Comparisons of sizes become guards, so a rule may branch on them.
class LayoutRule {
 public:
  // What is known of one input.
  struct Input {
    Dims numbers;                       // an integer, or the integers of a list
    std::vector<TensorLayout> tensors;  // a tensor, or those of a container, depth first
    bool is_used = false;
    bool is_operand = false;  // the operator computes with the numbers; see compute_with
  };
  // What a tensor among the results is.
  struct Result {
    enum class Kind : std::uint8_t { fresh, view, same };
    Kind kind = Kind::fresh;
    std::size_t of = 0;   // view, same: the input
    std::size_t nth = 0;  // view, same: the tensor, if the input is a list
    TensorLayout layout;
    bool has_slack = false;  // fresh: LibTorch's storage may be larger than the tensor
  };
  // What the operator has returned in the recorded call. Rules may ask it for what no size decides.
  struct Returned {
    bool is_input = false;       // the first tensor is the first input
    std::vector<Numbers> sizes;  // by tensor
    Numbers strides;             // of the first tensor
  };

  // `values` are the inputs, and must outlive the rule.
  LayoutRule(const std::vector<c10::IValue>& values, std::vector<Input> inputs, const Returned& returned)
      : values_(&values), inputs_(std::move(inputs)), returned_(returned) {}

  // --- what the node is given ---

  std::size_t input_count() const { return values_->size(); }
  const c10::IValue& value(std::size_t i) const { return (*values_)[i]; }
  bool has_tensor(std::size_t i) const {
    return i < values_->size() && value(i).isTensor() && value(i).toTensor().defined();
  }
  const TensorLayout& tensor(std::size_t i) { return use(i).tensors[0]; }
  const std::vector<TensorLayout>& tensors(std::size_t i) { return use(i).tensors; }
  const Size& integer(std::size_t i) { return use(i).numbers[0]; }
  // The integers of a list, or the integer alone.
  const Dims& integers(std::size_t i) { return use(i).numbers; }
  // Says that the operator computes with the integer that is argument `i`, as in `x * 2`. Kernels of sr keep
  // such a number as it was recorded. If it differs between calls, the program therefore calls LibTorch's
  // operator.
  void compute_with(std::size_t i) { use(i).is_operand = true; }
  // Argument `i`, which chooses one of `rank` dimensions.
  std::size_t dim(std::size_t i, std::size_t rank) const { return from_front(value(i).toInt(), rank); }
  const Returned& returned() const { return returned_; }

  // --- what it returns: tensors depth first, numbers in the order of the outputs ---

  void fresh(TensorLayout layout) { results_.push_back({Result::Kind::fresh, 0, 0, std::move(layout)}); }
  // Adds a new tensor unless `layout` is nullopt. Returns true if it added one.
  bool fresh_if_known(const std::optional<TensorLayout>& layout) {
    if (layout) fresh(*layout);
    return layout.has_value();
  }
  // A new tensor whose elements lie in order.
  void dense(Dims sizes) {
    Dims strides = dense_strides(sizes);
    fresh({std::move(sizes), std::move(strides), 0});
  }
  // A new contiguous tensor. Its sizes are the first of `choices` that agree with the recorded call; returns
  // false if none does. The choice must not depend on sizes, only on dtypes and other arguments.
  bool dense_as_recorded(std::initializer_list<Dims> choices) {
    const std::size_t i = results_.size();
    const auto chosen = std::ranges::find_if(choices, [&](const Dims& sizes) {
      return i < returned_.sizes.size() && recorded(sizes) == returned_.sizes[i];
    });
    if (chosen == choices.end()) return false;
    dense(*chosen);
    results_.back().has_slack = true;
    return true;
  }
  // A new tensor, the first result. Its layout is the first of `choices` whose strides are those of the
  // recorded call; returns false if none has them.
  bool laid_out_as_recorded(std::initializer_list<TensorLayout> choices) {
    const auto chosen = std::ranges::find_if(
        choices, [&](const TensorLayout& layout) { return recorded(layout.strides) == returned_.strides; });
    if (chosen == choices.end()) return false;
    fresh(*chosen);
    return true;
  }
  // A new tensor whose memory is that of a contiguous one with the dimensions a and b exchanged.
  void dense_transposed(Dims sizes, std::size_t a, std::size_t b) {
    std::swap(sizes[a], sizes[b]);
    Dims strides = dense_strides(sizes);
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
    fresh({std::move(sizes), std::move(strides), 0});
  }
  // A view of input `i`. If that is a list of tensors, `nth` selects the tensor.
  void view(std::size_t i, TensorLayout layout, std::size_t nth = 0) {
    results_.push_back({Result::Kind::view, i, nth, std::move(layout)});
  }
  // Adds a view unless `layout` is nullopt. Returns true if it added one.
  bool view_if_known(std::size_t i, const std::optional<TensorLayout>& layout, std::size_t nth = 0) {
    if (layout) view(i, *layout, nth);
    return layout.has_value();
  }
  void same(std::size_t i, std::size_t nth = 0) {
    results_.push_back({Result::Kind::same, i, nth, tensors(i)[nth]});
  }
  void number(const Size& size) { numbers_.push_back({size}); }
  void numbers(Dims sizes) { numbers_.push_back(std::move(sizes)); }
  // A value that no size of any call changes.
  void constant() { numbers_.emplace_back(); }

  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<Result>& results() const { return results_; }
  const std::vector<Dims>& result_numbers() const { return numbers_; }

 private:
  Input& use(std::size_t i) {
    inputs_[i].is_used = true;
    return inputs_[i];
  }

  const std::vector<c10::IValue>* values_;
  std::vector<Input> inputs_;
  Returned returned_;
  std::vector<Result> results_;
  std::vector<Dims> numbers_;
};

}  // namespace sr::replay
