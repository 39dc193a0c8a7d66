// The parameters and buffers of a module by the names that its state_dict gives them, and the weights of the
// graph that they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <sr/frontend/assigned_attributes.hpp>
#include <sr/frontend/weight_source.hpp>

namespace sr {

struct StateEntry {
  enum class Use {
    followed,  // a weight of the graph
    fixed,     // the graph reads it, but holds a copy or writes it
    unused     // the graph does not read it
  };

  std::string name;  // "layer.weight"
  bool is_parameter = false;
  Use use = Use::unused;
  std::size_t weight = 0;  // position among the weights of the graph, if it is followed
};

namespace detail {

// Equal for tensors that share their elements.
using TensorIdentity = std::tuple<const void*, std::int64_t, at::ScalarType, std::vector<std::int64_t>,
                                  std::vector<std::int64_t>>;

inline TensorIdentity identity_of_elements(const at::Tensor& tensor) {
  return {tensor.storage().unsafeGetStorageImpl(), tensor.storage_offset(), tensor.scalar_type(),
          tensor.sizes().vec(), tensor.strides().vec()};
}

inline void add_state_entries(
    const c10::ivalue::Object& object, const std::string& prefix,
    const std::function<StateEntry(const AttributeKey&, const at::Tensor&)>& entry_of,
    std::vector<StateEntry>& entries) {
  const c10::ClassType& type = *object.type();
  for (std::size_t i = 0; i < type.numAttributes(); ++i) {
    const c10::IValue& value = object.getSlot(i);
    const std::string name = prefix + type.getAttributeName(i);
    if (value.isObject() && value.toObjectRef().type()->is_module()) {
      add_state_entries(value.toObjectRef(), name + ".", entry_of, entries);
    } else if (value.isTensor() && value.toTensor().defined()) {
      StateEntry& entry = entries.emplace_back(entry_of({&object, i}, value.toTensor()));
      entry.name = name;
      entry.is_parameter = type.is_parameter(i);
    }
  }
}

// `fixed`: whether the graph holds a copy of the attribute, or writes it. A tensor that the graph does not
// read is a weight if it shares its elements with one: tracing and export read only one of tied parameters.
inline std::vector<StateEntry> state_entries(const c10::IValue& module,
                                             const std::vector<WeightSource>& weights,
                                             const std::function<bool(const AttributeKey&)>& fixed) {
  std::map<AttributeKey, std::size_t> positions;
  std::map<TensorIdentity, std::size_t> tied;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    positions.emplace(AttributeKey{weights[i].object(), weights[i].attribute()}, i);
    if (weights[i].now().isTensor()) tied.emplace(identity_of_elements(weights[i].now().toTensor()), i);
  }
  std::vector<StateEntry> entries;
  add_state_entries(
      module.toObjectRef(), "",
      [&](const AttributeKey& key, const at::Tensor& tensor) {
        StateEntry entry;
        const auto follow = [&](std::size_t weight) {
          entry.use = StateEntry::Use::followed;
          entry.weight = weight;
        };
        if (const auto read = positions.find(key); read != positions.end()) {
          follow(read->second);
        } else if (fixed(key)) {
          entry.use = StateEntry::Use::fixed;
        } else if (can_be_weight(tensor)) {
          if (const auto same = tied.find(identity_of_elements(tensor)); same != tied.end())
            follow(same->second);
        }
        return entry;
      },
      entries);
  return entries;
}

}  // namespace detail

}  // namespace sr
