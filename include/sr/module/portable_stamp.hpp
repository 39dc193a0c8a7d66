// The stamp of a tensor that TensorStamp::suits rejects.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/SmallVector.h>

namespace sr {

// Compares the same properties as a TensorStamp by calls of LibTorch's functions, wherever LibTorch keeps
// them. The tensor and its storage must outlive the stamp.
class PortableStamp {
 public:
  explicit PortableStamp(const at::Tensor& tensor)
      : impl_(tensor.unsafeGetTensorImpl()),
        storage_(impl_->unsafe_storage().unsafeGetStorageImpl()),
        data_(storage_->data()),
        deleter_(storage_->data_ptr().get_deleter()),
        offset_(impl_->storage_offset()),
        keys_(impl_->key_set().raw_repr()),
        dtype_(impl_->dtype()),
        sizes_(impl_->sizes()),
        strides_(impl_->strides()) {}

  const c10::TensorImpl* impl() const { return impl_; }

  bool holds() const {
    return impl_->key_set().raw_repr() == keys_ &&
           impl_->unsafe_storage().unsafeGetStorageImpl() == storage_ && storage_->data() == data_ &&
           storage_->data_ptr().get_deleter() == deleter_ && impl_->storage_offset() == offset_ &&
           impl_->dtype() == dtype_ && impl_->sizes().equals(sizes_) && impl_->strides().equals(strides_);
  }

 private:
  const c10::TensorImpl* impl_;
  const c10::StorageImpl* storage_;
  const void* data_;
  c10::DeleterFnPtr deleter_;
  std::int64_t offset_;
  std::uint64_t keys_;
  caffe2::TypeMeta dtype_;
  c10::SmallVector<std::int64_t, 6> sizes_, strides_;
};

}  // namespace sr
