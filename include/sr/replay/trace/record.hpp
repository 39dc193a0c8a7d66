// The state of a recording: the trace so far, and the origin of each storage and value.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/registry/selection.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

namespace detail {

// A copy of the value's containers, since later nodes may change them.
inline c10::IValue snapshot(const c10::IValue& value) {
  return sr::detail::with_tensors(value, [](const at::Tensor& tensor) { return tensor; });
}

}  // namespace detail

class Record {
 public:
  // For a call on a frame with so many slots.
  explicit Record(std::size_t slots) : dynamic(slots, kNone) {}

  Trace trace;
  std::vector<ValueId> dynamic;  // by slot; kNone: static, or a tensor

  // Only the first reason is kept.
  void bail_out(const std::string& why) {
    if (!has_bailed_out()) trace.bailout = why;
  }
  void bail_out(const torch::jit::Node& node, const std::string& why) {
    if (!has_bailed_out()) trace.bailout = sr::detail::place_of(node) + " " + why;
  }
  // Bails out of this call only: another one with the same signature may be recorded.
  void bail_out_of_call(const std::string& why) {
    if (has_bailed_out()) return;
    trace.bailout = why;
    trace.bailout_is_of_call = true;
  }
  bool has_bailed_out() const { return !trace.bailout.empty(); }

  // Adds an argument of the call.
  void add_leaves(const c10::IValue& value) {
    sr::detail::add_identities(value, trace.callers);
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      if (storage_of(tensor) != kNone) bail_out_of_call("Two arguments of the recorded call share memory.");
      add_tensor(tensor, add_storage(tensor, {.home = Home::input, .leaf = trace.leaf_count++}),
                 /*given=*/true);
    });
  }

  // Adds the tensors of a constant or an attribute.
  void meet(const c10::IValue& value) {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      const StorageId known = storage_of(tensor);
      if (known != kNone && trace.storages[known].home == Home::input)
        bail_out_of_call("An argument of the recorded call shares memory with a weight.");
      if (is_known(tensor)) return;
      add_tensor(tensor, known != kNone ? known : add_storage(tensor, {.home = Home::weight}),
                 /*given=*/true);
    });
  }

  StorageId add_storage(const at::Tensor& tensor, TracedStorage storage) {
    const c10::StorageImpl* impl = sr::detail::storage_of(tensor);
    if (impl != nullptr) storage.bytes = impl->nbytes();
    const auto id = static_cast<StorageId>(trace.storages.size());
    trace.storages.push_back(storage);
    storages_[impl] = id;
    return id;
  }

  TensorId add_tensor(const at::Tensor& tensor, StorageId storage, bool given = false) {
    const auto id = static_cast<TensorId>(trace.tensors.size());
    trace.tensors.push_back({tensor, storage, TensorLayout::of(tensor), given});
    trace.ids.emplace(tensor.unsafeGetTensorImpl(), id);
    return id;
  }

  bool is_known(const at::Tensor& tensor) const { return trace.ids.count(tensor.unsafeGetTensorImpl()) != 0; }

  // The storage of a tensor, which itself may be unknown; kNone if the storage is unknown.
  StorageId storage_of(const at::Tensor& tensor) const {
    const auto known = storages_.find(sr::detail::storage_of(tensor));
    return known == storages_.end() ? kNone : known->second;
  }

  // kNone if the value is static, or a tensor.
  ValueId dynamic_id(const c10::IValue& value, Slot slot) const {
    if (value.isList() || value.isGenericDict() || value.isTuple()) {
      const auto known = trace.dynamic_containers.find(value.internalToPointer());
      return known == trace.dynamic_containers.end() ? kNone : known->second;
    }
    return dynamic[slot];
  }

 private:
  std::unordered_map<const c10::StorageImpl*, StorageId> storages_;
};

}  // namespace sr::replay
