// Follows sizes with symbols through one node of a recording.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/enum_tag.h>

#include <sr/base/identity.hpp>
#include <sr/graph/processed_node.hpp>
#include <sr/registry/registry.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/rule.hpp>
#include <sr/replay/trace/classify.hpp>
#include <sr/replay/trace/record.hpp>

namespace sr::replay {

// Made before the node runs. What no rule explains is pinned.
class NodeLayouts {
 public:
  NodeLayouts(Record& record, const Frame& frame, const ProcessedNode& node) : record_(record), node_(node) {
    if (!record.has_symbols() || record.has_bailed_out()) return;
    SizeScope::current().decide_for(node.node->kind().toQualString());
    for (const Slot slot : node.inputs) {
      const bool is_searched = inputs_.empty() && looks_up_key(*node.node);
      inputs_.push_back(is_searched ? LayoutRule::Input() : describe(frame.values[slot], slot));
    }
  }

  // True if the node is given sizes with symbols.
  bool varies() const { return varies_; }

  // Describes a value that the blocks of the node read from outside. Returns the integers in it if they vary.
  Dims add_captured(const c10::IValue& value, Slot slot) {
    if (!record_.has_symbols()) return {};
    inputs_.push_back(describe(value, slot));
    return replay::varies(inputs_.back().numbers) ? inputs_.back().numbers : Dims();
  }

  // After the node has run: finds how its results follow from its inputs. `values` are the inputs.
  // `is_interpreted`: replays interpret the node even if a rule describes its results.
  void follow(const std::vector<c10::IValue>& values, const Frame& frame, const NodeFacts& facts,
              bool is_interpreted) {
    if (!varies_) return;
    std::vector<at::Tensor> tensors;
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      const c10::IValue& output = frame.values[node_.first_output + i];
      if (record_.is_list_by_data(output)) continue;
      sr::detail::each_tensor(output, [&](const at::Tensor& tensor) {
        if (tensor.defined()) tensors.push_back(tensor);
      });
    }
    if (const LayoutFunction function = is_interpreted ? nullptr : rule_of(values)) {
      LayoutRule rule(values, inputs_, returned(tensors));
      if (function(rule) && agrees(rule, values, tensors, frame)) {
        for (std::size_t i = 0; i < rule.inputs().size(); ++i) {
          const LayoutRule::Input& input = rule.inputs()[i];
          if (!input.is_used) pin(input);
          if (!replay::varies(input.numbers)) continue;
          numbers.push_back({i, input.numbers, input.is_operand});
        }
        for (std::size_t i = 0; i < tensors.size(); ++i) results_.push_back({tensors[i], rule.results()[i]});
        keep_numbers(rule, frame);
        return;
      }
    }
    if (!node_.sub_blocks.empty() || (is_interpreted && !facts.foreign && !facts.changes_tensor))
      return guess(values, tensors, frame);
    keep_returned_numbers(values, frame);
    // Containers can be built of tensors whatever their sizes are.
    const bool moves = facts.builtin && facts.has(Fact::moves_values);
    for (LayoutRule::Input& input : inputs_) {
      if (moves) input.tensors.clear();
      pin(input);
    }
    for (const void* list : lists_) record_.forget_list(list);  // the node may have changed it
    varies_ = false;
  }

  // When the new tensors have ids: replaces the metadata of the recorded call.
  void assign(TensorId first_new_tensor, StorageId first_new_storage) {
    for (const auto& [tensor, result] : results_) {
      if (!record_.is_known(tensor)) continue;
      const TensorId id = record_.trace.id_of(tensor);
      if (id < first_new_tensor) continue;
      record_.trace.tensors[id].layout = result.layout;
      const StorageId storage = record_.trace.tensors[id].storage;
      if (storage >= first_new_storage)
        record_.trace.storages[storage].bytes = product_of(result.layout.sizes) * tensor.element_size();
    }
  }

  std::vector<NumberInput> numbers;  // see TracedNode

 private:
  struct KnownResult {
    at::Tensor tensor;
    LayoutRule::Result result;
  };

  LayoutRule::Input describe(const c10::IValue& value, Slot slot) {
    LayoutRule::Input input;
    if (value.isInt() || value.isIntList()) input.numbers = record_.numbers_of(value, slot);
    if (value.isIntList()) lists_.push_back(value.internalToPointer());
    if (record_.is_list_by_data(value)) return input;
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      if (tensor.defined()) input.tensors.push_back(record_.trace.layout_of(tensor));
    });
    varies_ |= replay::varies(input.numbers);
    for (const TensorLayout& layout : input.tensors) varies_ |= varies(layout);
    return input;
  }

  static bool varies(const TensorLayout& layout) {
    return !layout.offset.is_constant() || replay::varies(layout.sizes, layout.strides);
  }

  static void pin(const LayoutRule::Input& input) {
    for (const Size& number : input.numbers) number.pin();
    for (const TensorLayout& layout : input.tensors) {
      layout.offset.pin();
      pinned(layout.sizes);
      pinned(layout.strides);
    }
  }

  // The results of an interpreted node. A replay compares them with what is guessed here: that a result has
  // the sizes of what a loop carries in its place, or that a size which is that of something the node reads
  // in this call is so in every call.
  void guess(const std::vector<c10::IValue>& values, const std::vector<at::Tensor>& tensors,
             const Frame& frame) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (replay::varies(inputs_[i].numbers)) numbers.push_back({i, inputs_[i].numbers});
    }
    for (const at::Tensor& tensor : tensors) {
      LayoutRule::Result result;
      if (const TensorLayout* const carried = carried_like(tensor, values, frame)) {
        result.layout.sizes = carried->sizes;
      } else {
        for (const std::int64_t size : tensor.sizes()) result.layout.sizes.push_back(size_like(size));
      }
      result.layout.strides = dense_strides(result.layout.sizes);
      if (are(tensor.strides(), result.layout.strides) && tensor.storage_offset() == 0)
        results_.push_back({tensor, std::move(result)});
    }
    for (const void* list : lists_) record_.forget_list(list);
    varies_ = false;
  }
  // The layout of the value that a loop is given for one that it returns, if it has the same sizes.
  const TensorLayout* carried_like(const at::Tensor& tensor, const std::vector<c10::IValue>& values,
                                   const Frame& frame) const {
    if (node_.node->kind() != c10::prim::Loop) return nullptr;
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      const c10::IValue& output = frame.values[node_.first_output + i];
      if (!output.isTensor() || !output.toTensor().is_same(tensor) || !values[i + 2].isTensor()) continue;
      if (values[i + 2].toTensor().sizes() == tensor.sizes()) return &inputs_[i + 2].tensors[0];
    }
    return nullptr;
  }
  Size size_like(std::int64_t size) const {
    for (const LayoutRule::Input& input : inputs_) {
      for (const TensorLayout& layout : input.tensors) {
        for (const Size& each : layout.sizes) {
          if (!each.is_constant() && each.recorded() == size) return each;
        }
      }
      for (const Size& each : input.numbers) {
        if (!each.is_constant() && each.recorded() == size) return each;
      }
    }
    return size;
  }

  LayoutFunction rule_of(const std::vector<c10::IValue>& values) const {
    if (!node_.sub_blocks.empty()) return nullptr;  // see guess()
    const OperatorParts spec = registry().operator_of(key_of(*node_.node));
    if (spec.layouts != nullptr) return spec.layouts;
    if (!spec.functional.empty()) return &layouts::in_place;
    const auto handle = sr::detail::dispatched(*node_.node);
    const bool is_pointwise = handle && node_.node->kind().is_aten() && handle->hasTag(at::Tag::pointwise) &&
                              !handle->schema().is_mutable();
    return is_pointwise && !values.empty() ? &layouts::pointwise : nullptr;
  }

  LayoutRule::Returned returned(const std::vector<at::Tensor>& tensors) const {
    LayoutRule::Returned made;
    if (tensors.empty()) return made;
    made.is_input = record_.is_known(tensors[0]);
    made.strides.assign(tensors[0].strides().begin(), tensors[0].strides().end());
    for (const at::Tensor& tensor : tensors)
      made.sizes.emplace_back(tensor.sizes().begin(), tensor.sizes().end());
    return made;
  }

  // True if the rule says of the recorded call what it was.
  bool agrees(const LayoutRule& rule, const std::vector<c10::IValue>& values,
              const std::vector<at::Tensor>& tensors, const Frame& frame) const {
    if (rule.results().size() != tensors.size()) return false;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!agrees(rule.results()[i], values, tensors[i])) return false;
    }
    std::size_t numbers_seen = 0;
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      const c10::IValue& value = frame.values[node_.first_output + i];
      bool has_tensor = false;
      sr::detail::each_tensor(value, [&](const at::Tensor&) { has_tensor = true; });
      if (has_tensor || value.isTensor()) continue;
      if (numbers_seen == rule.result_numbers().size()) return false;
      const Dims& expected = rule.result_numbers()[numbers_seen++];
      if (value.isInt()
              ? expected.size() > 1 || (expected.size() == 1 && expected[0].recorded() != value.toInt())
              : !expected.empty() && (!value.isIntList() || !are(value.toIntVector(), expected))) {
        return false;
      }
    }
    return numbers_seen == rule.result_numbers().size();
  }

  bool agrees(const LayoutRule::Result& result, const std::vector<c10::IValue>& values,
              const at::Tensor& tensor) const {
    using Kind = LayoutRule::Result::Kind;
    const c10::StorageImpl* storage = sr::detail::storage_of(tensor);
    if (result.kind == Kind::fresh) {
      if (record_.storage_of(tensor) != kNone || storage == nullptr) return false;
      const Size bytes = product_of(result.layout.sizes) * tensor.element_size();
      const auto has = static_cast<std::int64_t>(storage->nbytes());
      if (result.has_slack ? bytes.recorded() > has : bytes.recorded() != has) return false;
    } else {
      at::Tensor of;
      std::size_t i = 0;
      sr::detail::each_tensor(values[result.of], [&](const at::Tensor& tensor_of_input) {
        if (i++ == result.nth) of = tensor_of_input;
      });
      if (sr::detail::storage_of(of) != storage) return false;
      if ((result.kind == Kind::same) != tensor.is_same(of)) return false;
    }
    return are(tensor.sizes(), result.layout.sizes) && are(tensor.strides(), result.layout.strides) &&
           tensor.storage_offset() == result.layout.offset.recorded();
  }

  static bool are(c10::IntArrayRef numbers_of_call, const Dims& sizes) {
    if (numbers_of_call.size() != sizes.size()) return false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i].recorded() != numbers_of_call[i]) return false;
    }
    return true;
  }

  void keep_numbers(const LayoutRule& rule, const Frame& frame) {
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < node_.output_count; ++i) {
      const Slot slot = node_.first_output + i;
      const c10::IValue& value = frame.values[slot];
      bool has_tensor = false;
      sr::detail::each_tensor(value, [&](const at::Tensor&) { has_tensor = true; });
      if (has_tensor || value.isTensor()) continue;
      const Dims& made = rule.result_numbers()[next++];
      if (made.empty()) continue;
      record_.keep_numbers(value, slot, made);
    }
  }

  // Keeps the integers in a tuple that is only returned as symbols. No operator of the program reads them, so
  // a program can return other integers in each call.
  void keep_returned_numbers(const std::vector<c10::IValue>& values, const Frame& frame) {
    if (!makes_returned_tuple(*node_.node)) return;
    std::vector<Size> of_elements(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].numbers.size() != 1 || !values[i].isInt()) continue;
      of_elements[i] = inputs_[i].numbers[0];
      inputs_[i].numbers.clear();
    }
    record_.numbers_in_tuples[frame.values[node_.first_output].internalToPointer()] = std::move(of_elements);
  }

  Record& record_;
  const ProcessedNode& node_;
  std::vector<LayoutRule::Input> inputs_;
  std::vector<const void*> lists_;  // of integers, among the inputs
  std::vector<KnownResult> results_;
  bool varies_ = false;
};

}  // namespace sr::replay
