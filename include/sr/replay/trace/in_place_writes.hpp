// Makes operators that change some rows of a variable write them where they lie. torch.export writes
// `cache.index_copy_(...)` as a functional operator, whose result it copies to the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/identity.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// The reverse of FunctionalWrites, which must have been applied: rewrites a complete trace.
class InPlaceWrites {
 public:
  explicit InPlaceWrites(Trace& trace) : trace_(trace) {}

  void apply() {
    std::erase_if(trace_.commits, [&](const Commit& commit) { return write_in_place(commit); });
  }

 private:
  // Makes the node that computes the new value write the variable. Returns false if it does not change rows
  // of the variable, or if another node needs what it overwrites.
  bool write_in_place(const Commit& commit) {
    const StorageId made = trace_.storage_id_of(commit.from), variable = trace_.storage_id_of(commit.to);
    const std::uint32_t producer = trace_.storages[made].producer;
    if (trace_.storages[made].home != Home::produced || producer >= trace_.nodes.size()) return false;
    TracedNode& node = trace_.nodes[producer];
    const std::string twin = twin_of(node);
    if (twin.empty() || !node.inputs[0].toTensor().is_same(commit.to) ||
        !node.outputs[0].toTensor().is_same(commit.from) || !is_alike(commit) || is_read(node, 1, variable))
      return false;
    for (std::uint32_t later = producer + 1; later < trace_.nodes.size(); ++later) {
      if (is_read(trace_.nodes[later], 0, variable)) return false;
    }
    for (const c10::IValue& result : trace_.results) {
      if (holds(result, variable) || holds(result, made)) return false;
    }
    for (TracedTensor& tensor : trace_.tensors) {
      if (tensor.storage == made) tensor.storage = variable;
    }
    node.twin = twin;
    node.role = Role::interpreted;
    node.changed = {variable};
    node.outputs.clear();
    node.dynamic_outputs.clear();
    return true;
  }

  // The operator in place, if a kernel of sr takes the node. Empty otherwise.
  std::string twin_of(const TracedNode& node) const {
    if (node.role != Role::compute || !node.twin.empty() || node.inputs.size() < 4 ||
        node.outputs.size() != 1 || !node.inputs[0].isTensor())
      return {};
    const c10::Symbol kind = node.processed->node->kind();
    const at::ScalarType dtype = node.inputs[0].toTensor().scalar_type();
    const auto has_dtype = [&](std::size_t i) {
      return node.inputs[i].isTensor() && node.inputs[i].toTensor().scalar_type() == dtype;
    };
    const auto is_index = [](const c10::IValue& value) {
      return value.isTensor() && value.toTensor().defined() && value.toTensor().dim() <= 1 &&
             value.toTensor().scalar_type() == at::kLong;
    };
    if (kind == c10::aten::index_copy) {
      return is_index(node.inputs[2]) && has_dtype(3) ? "aten::index_copy_" : std::string();
    }
    if (kind != c10::aten::index_put || !has_dtype(2) || !node.inputs[1].isList() ||
        !node.inputs[3].isBool() || node.inputs[3].toBool())
      return {};
    std::size_t indices = 0;
    for (const c10::IValue& each : node.inputs[1].toListRef()) {
      if (!each.isTensor() || !each.toTensor().defined()) continue;
      ++indices;
      if (!is_index(each)) return {};
    }
    return indices == 1 ? "aten::index_put_" : std::string();
  }

  bool is_alike(const Commit& commit) const {
    const TensorLayout &from = trace_.layout_of(commit.from), &to = trace_.layout_of(commit.to);
    return from.offset == 0 && to.offset == 0 && always_equal(from.sizes, to.sizes) &&
           always_equal(from.strides, to.strides);
  }

  // True if an input of the node from `first` on lies in the storage.
  bool is_read(const TracedNode& node, std::size_t first, StorageId storage) const {
    for (std::size_t i = first; i < node.inputs.size(); ++i) {
      if (holds(node.inputs[i], storage)) return true;
    }
    return std::ranges::any_of(node.captured,
                               [&](const c10::IValue& value) { return holds(value, storage); });
  }
  bool holds(const c10::IValue& value, StorageId storage) const {
    bool found = false;
    sr::detail::each_tensor(
        value, [&](const at::Tensor& tensor) { found |= trace_.storage_id_of(tensor) == storage; });
    return found;
  }

  Trace& trace_;
};

}  // namespace sr::replay
