// The stamp of a weight, which changes when the weight does: another tensor, another storage, other memory, a
// write, other sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

namespace sr {

// Describes a tensor at one time. The tensor's storage must outlive the stamp, and so must the object that
// holds the tensor or, for a constant, the tensor itself.
class WeightStamp {
 public:
  // `object` and `attribute` say where the caller's module keeps the tensor; `object` is null for a constant
  // of a graph. Appends the sizes and strides to `metadata`, in the order in which stamps are compared.
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

  // Whether LibTorch counts writes to the tensor. It does not count them for tensors made in inference mode.
  bool has_counter() const { return counter_ != &no_counter(); }

  // Whether the weight has not changed. Advances `metadata` past the entries of this stamp. Every call of a
  // runtime evaluates this for each weight.
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

}  // namespace sr
