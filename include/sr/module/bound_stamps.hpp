// What the tensors of a bound call were when a program was bound to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <sr/module/tensor_stamp.hpp>

namespace sr {

// Compares the same properties as a TensorStamp, for tensors that TensorStamp::suits rejects.
class GeneralBoundStamp {
 public:
  explicit GeneralBoundStamp(const at::Tensor& tensor)
      : impl_(tensor.unsafeGetTensorImpl()),
        storage_(impl_->unsafe_storage().unsafeGetStorageImpl()),
        data_(storage_->data()),
        deleter_(storage_->data_ptr().get_deleter()),
        offset_(impl_->storage_offset()),
        keys_(impl_->key_set().raw_repr()),
        dtype_(impl_->dtype()),
        sizes_(impl_->sizes()),
        strides_(impl_->strides()) {}

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

class BoundStamps {
 public:
  void add(const at::Tensor& tensor) {
    if (TensorStamp::suits(tensor)) {
      plain_.emplace_back(tensor);
    } else {
      others_.emplace_back(tensor);
    }
  }
  void clear() {
    plain_.clear();
    others_.clear();
  }

  // Whether all tensors are as they were.
  [[gnu::always_inline]] bool hold() const { return all_hold(plain_) && (others_.empty() || others_hold()); }
  // Whether these are the tensors, and as they were. Needs none of the tensors that were added, which may
  // have been freed. False if any of them was not plain.
  [[gnu::always_inline]] bool hold_for(c10::ArrayRef<c10::IValue> first,
                                       c10::ArrayRef<at::Tensor> second) const {
    return has_tensors(first, second) && all_hold(plain_);
  }

 private:
  [[gnu::always_inline]] bool has_tensors(c10::ArrayRef<c10::IValue> first,
                                          c10::ArrayRef<at::Tensor> second) const {
    if (plain_.size() != first.size() + second.size() || !others_.empty()) return false;
    const TensorStamp* stamp = plain_.data();
    for (const c10::IValue& value : first) {
      if (!value.isTensor() || value.unsafeToTensorImpl() != (stamp++)->impl()) return false;
    }
    for (const at::Tensor& tensor : second) {
      if (tensor.unsafeGetTensorImpl() != (stamp++)->impl()) return false;
    }
    return true;
  }
  [[gnu::noinline]] bool others_hold() const {
    return std::ranges::all_of(others_, [](const GeneralBoundStamp& stamp) { return stamp.holds(); });
  }

  std::vector<TensorStamp> plain_;
  std::vector<GeneralBoundStamp> others_;
};

}  // namespace sr
