// What the tensors of a bound call were when a program was bound to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <sr/module/stamp_groups.hpp>
#include <sr/module/tensor_stamp.hpp>

namespace sr {

// The stamp of a tensor of one to four dimensions. The tensor must outlive it.
template <std::size_t kRank>
class BoundStamp {
 public:
  static bool suits(const at::Tensor& tensor) { return TensorStamp<kRank>::suits(tensor); }

  explicit BoundStamp(const at::Tensor& tensor)
      : tensor_(tensor),
        deleter_(tensor_.pointer().get_deleter()),
        keys_(tensor_.impl()->key_set().raw_repr()) {}

  // Tensors with other keys may have no sizes. Bytes that a tensor begins to share lazily (copy on write) get
  // another deleter, and must not be written.
  [[gnu::always_inline]] bool holds() const {
    if (tensor_.impl()->key_set().raw_repr() != keys_ || !tensor_.has_its_storage()) [[unlikely]]
      return false;
    const std::uint64_t other_deleter = tensor_.pointer().get_deleter() != deleter_ ? 1 : 0;
    return (other_deleter | tensor_.differences()) == 0;
  }

 private:
  TensorStamp<kRank> tensor_;
  c10::DeleterFnPtr deleter_;
  std::uint64_t keys_;
};

// Equivalent to a BoundStamp, for a tensor of any rank.
class BoundStampOfAnyRank {
 public:
  explicit BoundStampOfAnyRank(const at::Tensor& tensor)
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
    if (!plain_.add(tensor)) others_.emplace_back(tensor);
  }
  void clear() {
    plain_.clear();
    others_.clear();
  }

  // Whether all tensors are as they were.
  [[gnu::always_inline]] bool hold() const { return plain_.hold() && (others_.empty() || others_hold()); }

 private:
  [[gnu::noinline]] bool others_hold() const {
    for (const BoundStampOfAnyRank& stamp : others_) {
      if (!stamp.holds()) return false;
    }
    return true;
  }

  StampGroups<BoundStamp> plain_;
  std::vector<BoundStampOfAnyRank> others_;
};

}  // namespace sr
