// Detects whether a tensor of known rank has got other memory, sizes, strides or another dtype.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

namespace sr {

// Describes a tensor at one time. The compiler knows the rank, and one branch tests all differences, so that
// a comparison takes a few nanoseconds. The tensor must outlive the stamp.
template <std::size_t kRank>
class TensorStamp {
 public:
  // Whether the stamp may be used for the tensor: its sizes and strides lie inside the TensorImpl, where
  // LibTorch keeps those of up to five dimensions (c10/core/impl/SizesAndStrides.h).
  static bool suits(const at::Tensor& tensor) {
    const c10::TensorImpl* const impl = tensor.unsafeGetTensorImpl();
    return impl->dim() == kRank && is_inside(impl->sizes().data(), *impl) &&
           is_inside(impl->strides().data(), *impl);
  }

  explicit TensorStamp(const at::Tensor& tensor)
      : impl_(tensor.unsafeGetTensorImpl()),
        storage_(impl_->unsafe_storage().unsafeGetStorageImpl()),
        pointer_(&storage_->data_ptr()),
        data_(pointer_->get()),
        sizes_(impl_->sizes().data()),
        strides_(impl_->strides().data()),
        offset_(impl_->storage_offset()),
        dtype_(impl_->dtype()) {
    for (std::size_t d = 0; d < kRank; ++d) {
      size_[d] = sizes_[d];
      stride_[d] = strides_[d];
    }
  }

  const c10::TensorImpl* impl() const { return impl_; }
  const at::DataPtr& pointer() const { return *pointer_; }

  // Whether the tensor has the same storage as before. Only then may the functions below be called: another
  // storage may have been freed.
  [[gnu::always_inline]] bool has_its_storage() const {
    return impl_->unsafe_storage().unsafeGetStorageImpl() == storage_;
  }

  // Zero if nothing else differs.
  [[gnu::always_inline]] std::uint64_t differences() const {
    std::uint64_t differ = address(pointer_->get()) ^ address(data_);
    differ |= static_cast<std::uint64_t>(impl_->dim() ^ static_cast<std::int64_t>(kRank));
    differ |= static_cast<std::uint64_t>(impl_->storage_offset() ^ offset_);
    differ |= static_cast<std::uint64_t>(impl_->dtype() != dtype_);
    for (std::size_t d = 0; d < kRank; ++d)
      differ |= static_cast<std::uint64_t>((sizes_[d] ^ size_[d]) | (strides_[d] ^ stride_[d]));
    return differ;
  }

 private:
  static std::uint64_t address(const void* pointer) { return std::bit_cast<std::uintptr_t>(pointer); }
  static bool is_inside(const std::int64_t* array, const c10::TensorImpl& impl) {
    const std::uint64_t begin = address(&impl);
    return address(array) >= begin && address(array + kRank) <= begin + sizeof(impl);
  }

  const c10::TensorImpl* impl_;
  const c10::StorageImpl* storage_;
  const at::DataPtr* pointer_;
  const void* data_;
  const std::int64_t *sizes_, *strides_;  // in the tensor
  std::array<std::int64_t, kRank> size_, stride_;
  std::int64_t offset_;
  caffe2::TypeMeta dtype_;
};

}  // namespace sr
