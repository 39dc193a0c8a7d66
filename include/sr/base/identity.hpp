// Which storages and containers a value refers to, and the tensors in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include <sr/base/extent.hpp>

namespace sr {

namespace detail {

inline const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->has_storage()
             ? tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()
             : nullptr;
}

// True if the tensor's storage holds no address although the tensor has elements.
[[gnu::noinline]] inline bool needs_memory(const at::Tensor& tensor) {
  const c10::StorageImpl* storage = storage_of(tensor);
  return storage != nullptr && tensor.numel() != 0 && storage->data() == nullptr;
}

// True if the tensor's storage was freed or never allocated. Operators of ATen would dereference a null
// pointer. Every argument of a call on the general path is asked: the first line answers for nearly all,
// without the virtual functions of tensors.
[[gnu::always_inline]] inline bool has_no_memory(const at::Tensor& tensor) {
  c10::StorageImpl* const storage = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr || storage->_mutable_data_ptr_no_checks().get() != nullptr) return false;
  return needs_memory(tensor);
}

// The identity of what a value may change: the storage of a tensor (the tensor itself if it has none), or the
// container or object itself. Null for values that cannot change.
inline const void* identity_of(const c10::IValue& value) {
  if (value.isTensor()) {
    const void* storage = storage_of(value.toTensor());
    return storage != nullptr ? storage : value.toTensor().unsafeGetTensorImpl();
  }
  return value.isList() || value.isGenericDict() || value.isObject() ? value.internalToPointer() : nullptr;
}

inline void add_identities(const c10::IValue& value, std::unordered_set<const void*>& known) {
  if (!value.isPtrType()) return;  // LibTorch looks into neither devices nor numbers
  c10::IValue::HashAliasedIValues parts;
  value.getSubValues(parts);
  for (const c10::IValue& part : parts) {
    if (const void* identity = identity_of(part)) known.insert(identity);
  }
}

// Calls visit(tensor) for each defined tensor in the value, depth first; in a dictionary, keys come before
// their values.
template <class Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    if (value.isIntList() || value.isDoubleList() || value.isBoolList()) return;
    for (const c10::IValue& element : value.toListRef()) each_tensor(element, visit);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) each_tensor(element, visit);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      each_tensor(entry.key(), visit);
      each_tensor(entry.value(), visit);
    }
  }
}

// Calls visit(container) for each list and dictionary in the value, depth first: containers come before those
// in them.
template <class Visit>
void each_container(const c10::IValue& value, const Visit& visit) {
  if (value.isList()) {
    visit(value);
    if (value.isTensorList() || value.isIntList() || value.isDoubleList() || value.isBoolList()) return;
    for (const c10::IValue& element : value.toListRef()) each_container(element, visit);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) each_container(element, visit);
  } else if (value.isGenericDict()) {
    visit(value);
    for (const auto& entry : value.toGenericDict()) each_container(entry.value(), visit);
  }
}

// The type of a tuple, which may have names. Null for a tuple with an undefined tensor in it: LibTorch asks
// for its strides, and throws.
inline c10::TypePtr type_of_tuple(const c10::IValue& tuple) {
  const auto has_type = [](const auto& self, const c10::IValue& value) -> bool {
    if (value.isTensor()) return value.toTensor().defined();
    return !value.isTuple() ||
           std::ranges::all_of(value.toTupleRef().elements(),
                               [&](const c10::IValue& element) { return self(self, element); });
  };
  return has_type(has_type, tuple) ? tuple.type() : nullptr;
}

// A tuple of that type; without names if the type is null.
inline c10::IValue tuple_of(const c10::TypePtr& type, std::vector<c10::IValue> elements) {
  if (type == nullptr) return c10::ivalue::Tuple::create(std::move(elements));
  const auto tuple = type->expect<c10::TupleType>();
  return tuple->name() ? c10::ivalue::Tuple::createNamed(std::move(elements), tuple)
                       : c10::ivalue::Tuple::create(std::move(elements));
}

// Returns the value with map(tensor) in place of each tensor, in new containers.
template <class Map>
c10::IValue with_tensors(const c10::IValue& value, const Map& map) {
  if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(map(value.toTensor())) : value;
  if (value.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : value.toTupleRef().elements())
      elements.push_back(with_tensors(element, map));
    return tuple_of(type_of_tuple(value), std::move(elements));
  }
  if (value.isList()) {
    c10::impl::GenericList list(value.toList().elementType());
    for (const c10::IValue& element : value.toListRef()) list.push_back(with_tensors(element, map));
    return list;
  }
  if (value.isGenericDict()) {
    const auto from = value.toGenericDict();
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    for (const auto& entry : from)
      dict.insert(with_tensors(entry.key(), map), with_tensors(entry.value(), map));
    return dict;
  }
  return value;
}

// True if a tensor on a copy of its bytes, with its dtype, sizes and strides, is a copy of it.
inline bool can_be_copied_as_bytes(const at::Tensor& tensor) {
  return storage_of(tensor) != nullptr && !tensor.is_quantized() && !tensor.is_conj() && !tensor.is_neg();
}

// The value that a call with these results returns: the only result, or a tuple.
inline c10::IValue join_results(std::vector<c10::IValue> results) {
  if (results.size() == 1) return std::move(results[0]);
  return results.empty() ? c10::IValue() : c10::IValue(c10::ivalue::Tuple::create(std::move(results)));
}

// Copies the folded constants in one result. The interpreter makes such values anew in every call. Here they
// exist once, and what the caller does with one result must not change the next. Values that share bytes
// still share them afterwards.
class FreshCopies {
 public:
  // `folded` has the identities of what is copied, and must outlive this object.
  explicit FreshCopies(const std::unordered_set<const void*>& folded) : folded_(&folded) {}

  c10::IValue operator()(const c10::IValue& value) {
    if (value.isTensor()) return is_folded(value) ? c10::IValue(copy(value.toTensor())) : value;
    if (value.isTuple()) return of_tuple(value);
    if (value.isList()) return of_list(value);
    if (value.isGenericDict()) return of_dict(value);
    return value;
  }

  // Limits later copies of the storages in `value` to the bytes that its tensors span. If it is called for
  // several values, the copies contain the bytes of all of them.
  void copy_only_parts_of(const c10::IValue& value) {
    each_tensor(value, [&](const at::Tensor& tensor) {
      if (storage_of(tensor) == nullptr) return;
      const auto bytes = static_cast<std::int64_t>(tensor.element_size());
      const std::int64_t begin = tensor.storage_offset() * bytes;
      Part& part = parts_.try_emplace(storage_of(tensor), Part{begin, begin, bytes}).first->second;
      part.alignment = std::max(part.alignment, bytes);
      part.begin = std::min(part.begin, begin) / part.alignment * part.alignment;
      part.end = std::max(part.end, begin + static_cast<std::int64_t>(extent_in_bytes(tensor)));
    });
  }

  // A copy of the tensor, folded or not. A tensor that is copied twice stays one tensor.
  at::Tensor copy(const at::Tensor& tensor) {
    at::Tensor& fresh = tensors_[tensor.unsafeGetTensorImpl()];
    if (!fresh.defined()) fresh = copy_anew(tensor);
    return fresh;
  }

  // Returns a deep copy of an object. Its tensors are copies made by copy(), or, if `copies_tensors` is
  // false, the tensors of the object.
  c10::IValue copy_object(const c10::IValue& object, bool copies_tensors) {
    c10::IValue::HashIdentityIValueMap copied;
    object.visit([&](const c10::IValue& value) {
      if (value.isTensor() && value.toTensor().defined())
        copied.emplace(value, copies_tensors ? c10::IValue(copy(value.toTensor())) : value);
      return false;
    });
    return object.deepcopy(copied);
  }

 private:
  bool is_folded(const c10::IValue& value) const { return folded_->count(identity_of(value)) != 0; }

  // A range of bytes, as offsets from the beginning of a storage.
  struct Part {
    std::int64_t begin, end;
    std::int64_t alignment;  // of `begin`: the bytes of the largest elements
  };

  at::Tensor copy_anew(const at::Tensor& tensor) {
    if (!can_be_copied_as_bytes(tensor)) return tensor.clone();
    const auto known = parts_.find(storage_of(tensor));
    const auto [begin, end, alignment] =
        known != parts_.end() ? known->second
                              : Part{0, static_cast<std::int64_t>(tensor.storage().nbytes()), 1};
    at::Tensor& bytes = storages_[storage_of(tensor)];
    if (!bytes.defined()) {
      bytes = at::empty({end - begin}, at::TensorOptions(at::kByte));
      if (end != begin)
        std::memcpy(bytes.mutable_data_ptr(), static_cast<const std::byte*>(tensor.storage().data()) + begin,
                    static_cast<std::size_t>(end - begin));
    }
    at::Tensor fresh = at::empty({0}, tensor.options());
    return fresh.set_(bytes.storage(),
                      tensor.storage_offset() - begin / static_cast<std::int64_t>(tensor.element_size()),
                      tensor.sizes(), tensor.strides());
  }

  c10::IValue of_tuple(const c10::IValue& value) {
    const auto& tuple = value.toTupleRef();
    std::vector<c10::IValue> elements;
    bool changed = false;
    for (const c10::IValue& element : tuple.elements()) {
      elements.push_back((*this)(element));
      changed |= !elements.back().is(element);
    }
    if (!changed) return value;
    return tuple_of(type_of_tuple(value), std::move(elements));
  }

  // Containers made in the call keep their identity; folded ones are copied once.
  c10::IValue of_list(const c10::IValue& value) {
    if (!is_folded(value)) {
      for (std::size_t i = 0; i < value.toListRef().size(); ++i) {
        const c10::IValue element = value.toListRef()[i];
        if (c10::IValue fresh = (*this)(element); !fresh.is(element)) value.toList().set(i, std::move(fresh));
      }
      return value;
    }
    if (const auto position = containers_.find(identity_of(value)); position != containers_.end())
      return position->second;
    c10::impl::GenericList list(value.toList().elementType());
    for (const c10::IValue& element : value.toListRef()) list.push_back((*this)(element));
    return containers_[identity_of(value)] = list;
  }

  c10::IValue of_dict(const c10::IValue& value) {
    const auto from = value.toGenericDict();
    if (!is_folded(value)) {
      for (const auto& entry : from) {
        if (c10::IValue fresh = (*this)(entry.value()); !fresh.is(entry.value()))
          entry.setValue(std::move(fresh));
      }
      return value;
    }
    if (const auto position = containers_.find(identity_of(value)); position != containers_.end())
      return position->second;
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    for (const auto& entry : from) dict.insert(entry.key(), (*this)(entry.value()));
    return containers_[identity_of(value)] = dict;
  }

  const std::unordered_set<const void*>* folded_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> tensors_;
  std::unordered_map<const c10::StorageImpl*, at::Tensor> storages_;
  std::unordered_map<const c10::StorageImpl*, Part> parts_;  // that are copied; other storages whole
  std::unordered_map<const void*, c10::IValue> containers_;
};

}  // namespace detail

}  // namespace sr
