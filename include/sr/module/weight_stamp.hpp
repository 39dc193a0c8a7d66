// What tells that a weight is not what it was: another tensor, another storage, other memory, a write, other
// sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

namespace sr {

// Of a tensor as it was when the stamp was made. Its storage must outlive the stamp, and so must its object
// or, of a constant, the tensor itself.
class WeightStamp {
 public:
  // `object` and `attribute`: where the caller's module keeps the tensor; null for a constant of a graph.
  // Appends sizes and strides to `metadata`, where they lie in the order in which stamps are compared.
  WeightStamp(const at::Tensor& tensor, const c10::ivalue::Object* object, std::size_t attribute,
              std::vector<std::int64_t>& metadata)
      : object_(object),
        attribute_(attribute),
        impl_(tensor.unsafeGetTensorImpl()),
        storage_(impl_->unsafe_storage().unsafeGetStorageImpl()),
        pointer_(&storage_->data_ptr()),
        data_(pointer_->get()),
        counter_(impl_->version_counter().enabled() ? &impl_->version_counter() : &no_counter()),
        offset_(impl_->storage_offset()),
        rank_(impl_->dim()),
        dtype_(impl_->dtype()),
        version_(counter_->current_version()) {
    metadata.insert(metadata.end(), impl_->sizes().begin(), impl_->sizes().end());
    metadata.insert(metadata.end(), impl_->strides().begin(), impl_->strides().end());
  }

  // Whether LibTorch counts writes to the tensor. It does not if the tensor was made in inference mode.
  bool has_counter() const { return counter_ != &no_counter(); }

  // Moves `metadata` past what belongs to this stamp. Every call of a runtime asks this of each weight.
  [[gnu::always_inline]] bool holds(const std::int64_t*& metadata) const {
    if (object_ != nullptr) {
      const c10::IValue& value = object_->getSlot(attribute_);
      if (!value.isTensor() || value.unsafeToTensorImpl() != impl_) [[unlikely]]
        return false;
    }
    if (impl_->unsafe_storage().unsafeGetStorageImpl() != storage_ || pointer_->get() != data_ ||
        counter_->current_version() != version_ || impl_->storage_offset() != offset_ ||
        impl_->dtype() != dtype_ || impl_->dim() != rank_) [[unlikely]]
      return false;
    const std::int64_t *const sizes = impl_->sizes().data(), *const strides = impl_->strides().data();
    std::int64_t differ = 0;
    for (std::int64_t d = 0; d < rank_; ++d)
      differ |= (sizes[d] ^ metadata[d]) | (strides[d] ^ metadata[rank_ + d]);
    metadata += 2 * rank_;
    return differ == 0;
  }

 private:
  static const c10::VariableVersion& no_counter() {
    static const c10::VariableVersion counter(0);
    return counter;
  }

  const c10::ivalue::Object* object_;
  std::size_t attribute_;
  const c10::TensorImpl* impl_;
  const c10::StorageImpl* storage_;
  const at::DataPtr* pointer_;
  const void* data_;
  const c10::VariableVersion* counter_;
  std::int64_t offset_, rank_;
  caffe2::TypeMeta dtype_;
  std::uint32_t version_;
};

// Elements of a tensor as they were: some writes change no version. The storage must outlive the sample,
// which may be compared while the tensor's stamp holds.
class WeightSample {
 public:
  // Of the whole tensor where `whole` asks for it and its elements lie side by side; else of the first, the
  // middle and the last element.
  WeightSample(const at::Tensor& tensor, bool whole)
      : size_(std::min(tensor.itemsize(), sizeof(std::uint64_t))) {
    const std::int64_t count = tensor.numel();
    if (count == 0 || tensor.storage().data() == nullptr) return;
    if (whole && tensor.is_contiguous()) {
      start_ = static_cast<const std::byte*>(tensor.const_data_ptr());
      bytes_.assign(start_, start_ + tensor.nbytes());
      return;
    }
    for (const std::int64_t index : {std::int64_t{0}, count / 2, count - 1}) {
      std::int64_t rest = index, offset = tensor.storage_offset();
      for (std::int64_t d = tensor.dim(); d-- > 0;) {
        offset += rest % tensor.size(d) * tensor.stride(d);
        rest /= tensor.size(d);
      }
      const auto* const at = static_cast<const std::byte*>(tensor.storage().data()) +
                             offset * static_cast<std::int64_t>(tensor.itemsize());
      elements_.push_back({at, bits(at)});
    }
  }

  bool holds() const {
    if (!bytes_.empty()) return std::memcmp(start_, bytes_.data(), bytes_.size()) == 0;
    for (const Element& element : elements_) {
      if (bits(element.at) != element.bits) return false;
    }
    return true;
  }

 private:
  struct Element {
    const std::byte* at;
    std::uint64_t bits;
  };

  // Copies of a constant size are loads.
  std::uint64_t bits(const std::byte* at) const {
    switch (size_) {
      case 1:
        return load<std::uint8_t>(at);
      case 2:
        return load<std::uint16_t>(at);
      case 4:
        return load<std::uint32_t>(at);
      default:
        return load<std::uint64_t>(at);
    }
  }
  template <class T>
  static std::uint64_t load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }

  const std::byte* start_ = nullptr;  // of all elements
  std::vector<std::byte> bytes_;
  std::size_t size_;  // bytes that are compared of an element
  c10::SmallVector<Element, 3> elements_;
};

}  // namespace sr
