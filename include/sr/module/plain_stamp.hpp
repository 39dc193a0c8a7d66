// The stamp of an attribute of one to four dimensions, as most weights are.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

namespace sr {

// Equivalent to a WeightStamp, but compared in half of the instructions: the compiler knows the rank, and one
// branch tests all differences. The storage of the tensor must outlive the stamp, and so must the object that
// holds the tensor.
template <std::size_t kRank>
class PlainStamp {
 public:
  // Whether the stamp may be used for the tensor: LibTorch counts writes to it, and its sizes and strides lie
  // inside the TensorImpl, where LibTorch keeps those of up to five dimensions
  // (c10/core/impl/SizesAndStrides.h).
  static bool suits(const at::Tensor& tensor, const c10::ivalue::Object* object) {
    const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
    return object != nullptr && impl->dim() == kRank && impl->version_counter().enabled() &&
           is_inside(impl->sizes().data(), *impl) && is_inside(impl->strides().data(), *impl);
  }

  PlainStamp(const at::Tensor& tensor, const c10::ivalue::Object* object, std::size_t attribute)
      : object_(object),
        attribute_(attribute),
        impl_(tensor.unsafeGetTensorImpl()),
        storage_(impl_->unsafe_storage().unsafeGetStorageImpl()),
        pointer_(&storage_->data_ptr()),
        data_(pointer_->get()),
        sizes_(impl_->sizes().data()),
        strides_(impl_->strides().data()),
        offset_(impl_->storage_offset()),
        version_(impl_->version_counter().current_version()),
        dtype_(impl_->dtype()) {
    for (std::size_t d = 0; d < kRank; ++d) {
      size_[d] = sizes_[d];
      stride_[d] = strides_[d];
    }
  }

  // Whether the weight has not changed. Every call of a runtime evaluates this for each weight.
  [[gnu::always_inline]] bool holds() const {
    const c10::IValue& value = object_->getSlot(attribute_);
    if (!value.isTensor() || value.unsafeToTensorImpl() != impl_) [[unlikely]]
      return false;  // the tensor may have been freed
    std::uint64_t differ = impl_->version_counter().current_version() ^ version_;
    differ |= address(impl_->unsafe_storage().unsafeGetStorageImpl()) ^ address(storage_);
    differ |= address(pointer_->get()) ^ address(data_);
    differ |= static_cast<std::uint64_t>(impl_->dim() ^ static_cast<std::int64_t>(kRank));
    differ |= static_cast<std::uint64_t>(impl_->storage_offset() ^ offset_);
    differ |= static_cast<std::uint64_t>(impl_->dtype() != dtype_);
    for (std::size_t d = 0; d < kRank; ++d)
      differ |= static_cast<std::uint64_t>((sizes_[d] ^ size_[d]) | (strides_[d] ^ stride_[d]));
    return differ == 0;
  }

 private:
  static std::uint64_t address(const void* pointer) { return std::bit_cast<std::uintptr_t>(pointer); }
  static bool is_inside(const std::int64_t* array, const c10::TensorImpl& impl) {
    const std::uint64_t begin = address(&impl);
    return address(array) >= begin && address(array + kRank) <= begin + sizeof(impl);
  }

  const c10::ivalue::Object* object_;
  std::size_t attribute_;
  const c10::TensorImpl* impl_;
  const c10::StorageImpl* storage_;
  const at::DataPtr* pointer_;
  const void* data_;
  const std::int64_t *sizes_, *strides_;  // in the tensor
  std::array<std::int64_t, kRank> size_, stride_;
  std::int64_t offset_;
  std::uint32_t version_;
  caffe2::TypeMeta dtype_;
};

}  // namespace sr
