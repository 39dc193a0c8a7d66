// Makes in-place pointwise operators on tensors of the call, on variables and on arguments functional: each
// is recorded as its functional twin, which can be fused with the operators before and after it. A variable
// or an argument gets its new value by a copy at the end of the program, when nothing can fail any more.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>
#include <sr/graph/operator_facts.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/trace/operand.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// The key of the functional twin of an operator that writes its first argument. Empty if no twin is known to
// map floats to floats of the same sizes.
inline std::string functional_twin(const torch::jit::Node& node) {
  if (node.kind() == c10::aten::copy_) return "aten::copy";
  if (!has_fact(node.kind(), Fact::functional_on_floats)) return {};
  return std::string(registry().operator_of(key_of(node)).functional);
}

// Rewrites a complete trace. Two traces of one signature are rewritten in the same way, so that their
// storages correspond.
class FunctionalWrites {
 public:
  explicit FunctionalWrites(Trace& trace) : trace_(trace) {}

  void apply() {
    const auto writes = [](const TracedNode& node) { return !node.changed.empty(); };
    if (std::ranges::none_of(trace_.nodes, writes)) return;
    note_uses();
    for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i) {
      TracedNode& node = trace_.nodes[i];
      const std::optional<Written> written = find_written(node);
      rename(node);
      if (!written) continue;
      if (can_rename(node, i, *written)) {
        rename_to(node, *written);
      } else if (can_replace(node, i, *written)) {
        replace(node, i, *written);
      }
    }
    for (std::size_t i = trace_.result_count; i < trace_.results.size(); ++i) {
      c10::IValue& value = trace_.results[i];
      // A variable that is assigned what it is stays the tensor, which gets its value at the end.
      if (!value.isTensor() || !is_variable(trace_.id_of(value.toTensor()))) value = renamed(value);
    }
    for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
      if (is_given(id)) commit(trace_.tensor(id));
    }
    for (std::size_t i = 0; i < trace_.result_count; ++i) trace_.results[i] = renamed(trace_.results[i]);
  }

 private:
  // Tensors are identified as in the recorded call.
  struct Written {
    at::Tensor tensor;
    StorageId storage;
  };

  // Adds the copy of the tensor's new value, if it has one.
  void commit(const at::Tensor& given) {
    const auto now = names_.find(given.unsafeGetTensorImpl());
    if (now == names_.end()) return;
    TracedStorage& storage = trace_.storages[trace_.storage_id_of(given)];
    trace_.commits.push_back({now->second, given});
    storage.overwritten = false;  // its bytes are those of the last write
    // A call that returns an argument returns the caller's tensor, and a copy of a variable.
    if (!trace_.is_state(storage)) names_.erase(now);
  }

  void note_uses() {
    last_use_.assign(trace_.tensors.size(), 0);
    for (const TracedTensor& tensor : trace_.tensors) now_on_.push_back(tensor.storage);
    const auto note = [&](const c10::IValue& value, std::uint32_t at) {
      sr::detail::each_tensor(value, [&](const at::Tensor& tensor) { last_use_[trace_.id_of(tensor)] = at; });
    };
    const auto count = static_cast<std::uint32_t>(trace_.nodes.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      for (const c10::IValue& input : trace_.nodes[i].inputs) note(input, i);
      const auto capture = [&](const c10::IValue& value) {
        sr::detail::each_tensor(
            value, [&](const at::Tensor& tensor) { captured_.insert(trace_.storage_id_of(tensor)); });
      };
      for (const c10::IValue& value : trace_.nodes[i].captured) capture(value);
      if (!trace_.nodes[i].changes_lists) continue;
      for (const c10::IValue& input : trace_.nodes[i].inputs) capture(input);
      for (const c10::IValue& output : trace_.nodes[i].outputs) capture(output);
    }
    for (std::size_t r = 0; r < trace_.results.size(); ++r) {
      const c10::IValue& result = trace_.results[r];
      note(result, count);
      if (!result.isTensor()) note_containers(result);
      if (r >= trace_.result_count) continue;
      sr::detail::each_tensor(result, [&](const at::Tensor& tensor) {
        const TensorId id = trace_.id_of(tensor);
        returned_.insert(id);
        if (!trace_.tensors[id].given) viewed_.insert(trace_.tensors[id].storage);
      });
    }
    for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
      if (is_given(id)) last_use_[id] = count;  // the next call reads it, or the caller does
    }
  }

  // True if it is a variable or an argument that the call writes, and not a view of one.
  bool is_given(TensorId id) const {
    return trace_.tensors[id].given && trace_.outlives_call(trace_.storages[trace_.tensors[id].storage]);
  }
  bool is_variable(TensorId id) const {
    return is_given(id) && trace_.is_state(trace_.storages[trace_.tensors[id].storage]);
  }

  // Lists and dictionaries that are returned keep their identity and their elements.
  void note_containers(const c10::IValue& result) {
    if (result.isTuple()) {
      for (const c10::IValue& element : result.toTupleRef().elements()) note_containers(element);
    } else if (!result.isTensor()) {
      sr::detail::each_tensor(result, [&](const at::Tensor& tensor) { held_.insert(trace_.id_of(tensor)); });
    }
  }

  static std::optional<Written> find_written(const TracedNode& node) {
    if (node.changed.size() != 1 || node.inputs.empty() || !node.inputs[0].isTensor()) return std::nullopt;
    return Written{node.inputs[0].toTensor(), node.changed[0]};
  }

  // True if from now on the copied tensor can stand for the variable or argument that it is copied to: both
  // are laid out alike, no later node writes either, and nothing else reads the memory of the target.
  bool can_rename(const TracedNode& node, std::uint32_t i, const Written& written) const {
    const TensorId name = trace_.id_of(written.tensor);
    if (node.processed->node->kind() != c10::aten::copy_ || !is_given(name) || returned_.count(name) != 0 ||
        !node.inputs[1].isTensor() || captured_.count(written.storage) != 0 || held_.count(name) != 0)
      return false;
    const at::Tensor& from = node.inputs[1].toTensor();
    const TensorLayout &layout = trace_.layout_of(from), &own = trace_.layout_of(written.tensor);
    const StorageId source = trace_.storage_id_of(from);
    const StorageId current = trace_.storage_id_of(node.inputs[0].toTensor());
    if (from.scalar_type() != written.tensor.scalar_type() || source == written.storage ||
        source == current || from.is_conj() != written.tensor.is_conj() ||
        from.is_neg() != written.tensor.is_neg() || !always_equal(layout.sizes, own.sizes) ||
        !always_equal(layout.strides, own.strides) || !is_whole(written.tensor, written.storage))
      return false;
    for (std::uint32_t later = i + 1; later < trace_.nodes.size(); ++later) {
      for (const StorageId changed : trace_.nodes[later].changed) {
        const auto now = storages_.find(changed);
        if (changed == source || changed == written.storage) return false;
        if (now != storages_.end() && now->second == source) return false;
      }
    }
    for (TensorId other = 0; other < last_use_.size(); ++other) {
      const bool reads = now_on_[other] == written.storage || now_on_[other] == current;
      if (other != name && reads && last_use_[other] > i) return false;
    }
    return true;
  }
  void rename_to(TracedNode& node, const Written& written) {
    trace_.storages[trace_.storage_id_of(node.inputs[0].toTensor())].overwritten = true;
    names_[written.tensor.unsafeGetTensorImpl()] = node.inputs[1].toTensor();
    node.role = Role::nothing;
    node.inputs.clear();
    node.dynamic_inputs.clear();
    node.changed.clear();
  }

  // True if the functional operator can replace the write. The write must cover the whole storage, all
  // operands must have the dtype of the result, and no other view may read the storage later, nor the caller
  // get one of an argument.
  bool can_replace(const TracedNode& node, std::uint32_t i, const Written& written) const {
    const auto is_dynamic = [](ValueId id) { return id != kNone; };
    if (captured_.count(written.storage) != 0 || held_.count(trace_.id_of(written.tensor)) != 0 ||
        std::ranges::any_of(node.dynamic_inputs, is_dynamic) ||
        functional_twin(*node.processed->node).empty() ||
        (trace_.is_written_argument(trace_.storages[written.storage]) &&
         viewed_.count(written.storage) != 0)) {
      return false;
    }
    const at::Tensor& self = node.inputs[0].toTensor();
    const TensorId id = trace_.id_of(self);
    const StorageId storage = trace_.tensors[id].storage;
    const at::ScalarType type = self.scalar_type();
    if ((type != at::kFloat && type != at::kLong) || !is_whole(self, storage)) return false;
    for (const c10::IValue& input : node.inputs) {
      if (input.isComplexDouble() || (type == at::kLong && input.isDouble())) return false;
      if (!input.isTensor() || !input.toTensor().defined()) continue;
      const at::Tensor& read = input.toTensor();
      const TensorId other = trace_.id_of(read);
      if (read.scalar_type() != type || (other != id && trace_.tensors[other].storage == storage))
        return false;
    }
    // Tensors from `known_tensors` on are made after the write.
    const TensorId name = trace_.id_of(written.tensor);
    for (TensorId other = 0; other < node.known_tensors; ++other) {
      if (other != name && now_on_[other] == storage && last_use_[other] > i) return false;
    }
    return true;
  }

  // True if the tensor's elements are all bytes of its storage, in every call.
  bool is_whole(const at::Tensor& tensor, StorageId storage) const {
    const TensorLayout& layout = trace_.layout_of(tensor);
    if (!tensor.is_non_overlapping_and_dense()) return false;
    if (varies(layout.sizes, layout.strides) && !is_dense(layout)) return false;
    // A call can only access the part of the caller's storage that the argument covers.
    if (trace_.storages[storage].home == Home::input)
      return tensor.is_same(trace_.tensor(trace_.storages[storage].leaf));
    return layout.offset == 0 &&
           product_of(layout.sizes) * tensor.element_size() == trace_.storages[storage].bytes;
  }

  void replace(TracedNode& node, std::uint32_t i, const Written& written) {
    const at::Tensor& self = node.inputs[0].toTensor();
    const StorageId before = trace_.storage_id_of(self);
    const auto storage = static_cast<StorageId>(trace_.storages.size());
    TensorLayout layout = trace_.layout_of(self);
    const Size bytes = product_of(layout.sizes) * self.element_size();
    const Size before_tensor = layout.offset * self.element_size();  // bytes; an argument may have an offset
    trace_.storages[before].overwritten = true;
    trace_.storages.push_back({.home = Home::produced, .producer = i, .bytes = bytes});
    for (TensorId other = node.known_tensors; other < now_on_.size(); ++other) {
      if (now_on_[other] != before) continue;
      TracedTensor& moved = trace_.tensors[other];
      now_on_[other] = moved.storage = storage;
      moved.layout.offset -= before_tensor / moved.recorded.element_size();
    }
    layout.offset = 0;
    now_on_[trace_.id_of(written.tensor)] = storage;
    at::Tensor result = self.detach();  // the same bytes under a new name
    trace_.ids.emplace(result.unsafeGetTensorImpl(), static_cast<TensorId>(trace_.tensors.size()));
    trace_.tensors.push_back({result, storage, std::move(layout)});
    names_[written.tensor.unsafeGetTensorImpl()] = result;
    storages_[written.storage] = storage;
    node.twin = functional_twin(*node.processed->node);
    node.role = Role::compute;
    node.changed.clear();
    node.outputs = {result};
    node.dynamic_outputs = {kNone};
  }

  void rename(TracedNode& node) const {
    if (names_.empty()) return;
    for (c10::IValue& input : node.inputs) input = renamed(input);
    for (StorageId& changed : node.changed) {
      if (const auto now = storages_.find(changed); now != storages_.end()) changed = now->second;
    }
  }

  // Containers without a replaced tensor keep their identity.
  c10::IValue renamed(const c10::IValue& value) const {
    bool holds = false;
    const auto is_renamed = [&](const at::Tensor& tensor) {
      return names_.count(tensor.unsafeGetTensorImpl()) != 0;
    };
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) { holds |= is_renamed(tensor); });
    if (!holds) return value;
    if (value.isTuple()) {
      std::vector<c10::IValue> elements;
      for (const c10::IValue& element : value.toTupleRef().elements()) elements.push_back(renamed(element));
      return trace_.tuple_like(value, std::move(elements));
    }
    return sr::detail::with_tensors(value, [&](const at::Tensor& tensor) {
      return is_renamed(tensor) ? names_.at(tensor.unsafeGetTensorImpl()) : tensor;
    });
  }

  Trace& trace_;
  // By tensor that the recorded call made: the last node that reads it (the number of nodes for results), and
  // the storage that holds its value after the writes so far.
  std::vector<std::uint32_t> last_use_;
  std::vector<StorageId> now_on_;
  std::unordered_set<StorageId> captured_;  // read by blocks that data choose, or in lists that they change
  std::unordered_set<TensorId> held_;       // by lists and dictionaries among the results
  std::unordered_set<TensorId> returned_;   // to the caller
  std::unordered_set<StorageId> viewed_;    // by results, which are not the tensors that were given
  std::unordered_map<const c10::TensorImpl*, at::Tensor> names_;  // of recorded tensors since the last write
  std::unordered_map<StorageId, StorageId> storages_;             // likewise
};

}  // namespace sr::replay
