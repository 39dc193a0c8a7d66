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
#include <sr/replay/trace/argument_sizes.hpp>
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

  // The words of the call's signature, some of them symbols: the recording follows those. Called before
  // arguments are added, if at all.
  void follow(const std::vector<Size>& signature) {
    words_ = signature.data() + kFirstArgumentWord;
    numbers_.resize(dynamic.size());
  }
  bool has_symbols() const { return words_ != nullptr; }

  Trace trace;
  // The integers among the elements of each tuple that is only returned, by the address of the tuple. Other
  // elements have constants.
  std::unordered_map<const void*, std::vector<Size>> numbers_in_tuples;
  bool may_run_twice = false;    // the call, see run_twice.hpp
  ValueId inputs_by_value = 0;   // so many values are inputs of the block
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

  // Adds an argument of the call, or a variable if `is_state`, which lies in `slot`. Variables come last.
  void add_argument(const c10::IValue& value, Slot slot, bool is_state) {
    // A call may change the containers of variables: they are copies.
    if (is_state) {
      if (!value.isTensor()) sr::detail::add_identities(value, trace.own);
    } else {
      sr::detail::each_container(value, [&](const c10::IValue& container) { add_container(container); });
    }
    if (value.isTensor() && value.toTensor().defined()) arguments_.emplace(trace.leaf_count, argument_count_);
    ++argument_count_;
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      if (storage_of(tensor) != kNone)
        bail_out_of_call(
            "Two arguments share memory, and the model writes tensors, draws random numbers or calls unknown "
            "code.");
      add_tensor(tensor, add_storage(tensor, {.home = Home::input, .leaf = trace.leaf_count++}),
                 /*given=*/true);
    });
    if (!is_state) trace.first_state_leaf = trace.leaf_count;
    if (!has_symbols()) return;
    ArgumentSizes sizes(words_);
    sizes.take(
        value,
        [&](const at::Tensor& tensor, c10::ArrayRef<Size> of_tensor, c10::ArrayRef<Size> strides) {
          TensorLayout& layout = trace.tensors[trace.id_of(tensor)].layout;
          layout.sizes.assign(of_tensor.begin(), of_tensor.end());
          layout.strides.assign(strides.begin(), strides.end());
        },
        [&](const c10::IValue& number_or_list, const Dims& found) {
          keep_numbers(number_or_list, slot, found);
        });
  }

  // Notes that a node changes the list or dictionary. Returns false if it is not one of the arguments'.
  bool change_given(const c10::IValue& container) {
    const auto known = trace.given_containers.find(container.internalToPointer());
    if (known == trace.given_containers.end()) return false;
    if (trace.repeated_containers.count(known->first) != 0)
      bail_out_of_call("A list or dictionary is given twice, and the model changes it.");
    trace.changed_containers.emplace(known->second, container);
    return true;
  }

  // Notes that a tensor of the arguments is viewed as elements of so many bytes. Returns false if they are
  // larger than its own and it lies in a container.
  bool note_wider_view(std::uint32_t leaf, std::int64_t bytes) {
    const auto own_bytes = static_cast<std::int64_t>(trace.tensor(leaf).element_size());
    if (bytes <= own_bytes) return true;
    const auto argument = arguments_.find(leaf);
    if (argument == arguments_.end()) return false;
    trace.wider_views.push_back({argument->second, bytes / own_bytes});
    return true;
  }

  // --- integers with symbols ---

  // Returns the sizes that an integer in a slot, or a list of integers, stands for.
  Dims numbers_of(const c10::IValue& value, Slot slot) const {
    if (value.isInt()) return {numbers_[slot].is_constant() ? Size(value.toInt()) : numbers_[slot]};
    const auto known = lists_.find(value.internalToPointer());
    return known != lists_.end() ? known->second : constant_dims(value.toIntVector());
  }
  void keep_numbers(const c10::IValue& value, Slot slot, const Dims& sizes) {
    if (value.isInt()) {
      numbers_[slot] = sizes[0];
    } else {
      lists_[value.internalToPointer()] = sizes;
    }
  }
  void forget_list(const void* list) { lists_.erase(list); }
  // What a slot held before counts no more.
  void forget_number(Slot slot) {
    if (has_symbols()) numbers_[slot] = Size();
  }
  Size number(Slot slot) const { return has_symbols() ? numbers_[slot] : Size(); }
  void set_number(Slot slot, const Size& size) {
    if (has_symbols()) numbers_[slot] = size;
  }
  // Pins the integer in a slot, or those of a list.
  // Appends the integers in a result to `all`, in the order of Trace::number_results. `number` is the size
  // that the result stands for if it is an integer.
  void add_numbers(const c10::IValue& value, const Size& number, std::vector<Size>& all) const {
    if (value.isInt()) all.push_back(number);
    if (!value.isTuple()) return;
    const auto& elements = value.toTupleRef().elements();
    const auto known = numbers_in_tuples.find(value.internalToPointer());
    for (std::size_t i = 0; i < elements.size(); ++i)
      add_numbers(elements[i], known == numbers_in_tuples.end() ? Size() : known->second[i], all);
  }
  void pin_numbers(const c10::IValue& value, Slot slot) const {
    if (has_symbols() && (value.isInt() || value.isIntList())) pinned(numbers_of(value, slot));
  }

  // Adds the tensors of a constant or an attribute.
  void meet(const c10::IValue& value) {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) {
      const StorageId known = storage_of(tensor);
      if (known != kNone && trace.storages[known].home == Home::input)
        bail_out_of_call("An argument shares memory with a weight of the model.");
      if (tensor.defined() && tensor.layout() != c10::kStrided)
        return bail_out_of_call("A weight of the model is sparse.");
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

  // Returns a copy of the value's containers for the trace. Lists of tensors that blocks change are empty in
  // the copy, because their tensors belong to no storage of the trace.
  c10::IValue traced(const c10::IValue& value) const {
    if (is_list_by_data(value)) return c10::List<at::Tensor>();
    if (!value.isTuple()) return detail::snapshot(value);
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements()) elements.push_back(traced(element));
    return sr::detail::tuple_of(sr::detail::type_of_tuple(value), std::move(elements));
  }
  bool is_list_by_data(const c10::IValue& value) const {
    return value.isTensorList() && trace.dynamic_containers.count(value.internalToPointer()) != 0;
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
  void add_container(const c10::IValue& container) {
    const void* const identity = container.internalToPointer();
    if (!trace.given_containers.try_emplace(identity, container_count_++).second)
      trace.repeated_containers.insert(identity);
  }

  std::uint32_t container_count_ = 0;
  std::unordered_map<const c10::StorageImpl*, StorageId> storages_;
  const Size* words_ = nullptr;  // of the next argument
  std::size_t argument_count_ = 0;
  std::unordered_map<std::uint32_t, std::size_t> arguments_;  // position of a tensor, by leaf
  std::vector<Size> numbers_;                                 // by slot; constant: the value in the slot
  std::unordered_map<const void*, Dims> lists_;
};

}  // namespace sr::replay
