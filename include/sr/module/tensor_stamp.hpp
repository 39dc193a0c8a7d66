// Detects whether the memory, sizes, strides, dtype or dispatch keys of a tensor have changed.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

namespace sr {

// Collects the bits in which tensors differ from their stamps, so that one branch tests those of several.
struct TensorDifferences {
  using Pair [[gnu::vector_size(16)]] = std::uint64_t;
  Pair pairs{};
  std::uint64_t word = 0;

  [[gnu::always_inline]] bool any() const { return (pairs[0] | pairs[1] | word) != 0; }
};

// Records the state of a tensor: its storage, the DataPtr of the storage, its sizes, strides, offset, dtype
// and dispatch keys. To detect a change, a stamp compares the bytes of the TensorImpl and of the DataPtr.
// That is faster than calling sizes(), strides() and so on
// (docs/internals/decisions/0029-stamps-compare-bytes.md). The tensor must outlive its stamp.
class TensorStamp {
 public:
  // Returns whether LibTorch keeps these properties where the stamp reads them. Only then may a stamp be
  // made.
  static bool suits(const at::Tensor& tensor) {
    const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    const c10::DataPtr& pointer = impl.unsafe_storage().unsafeGetStorageImpl()->data_ptr();
    const Pair memory = first_pair(pointer);
    if (memory[0] != address(pointer.get()) ||
        memory[1] != std::bit_cast<std::uintptr_t>(pointer.get_deleter()))
      return false;
    const auto* const in_place = reinterpret_cast<const Metadata*>(bytes_of(impl));
    if (impl.sizes().data() != in_place->sizes.data() || impl.strides().data() != in_place->strides.data())
      return false;
    Metadata metadata;
    std::memcpy(&metadata, bytes_of(impl), sizeof(metadata));
    const caffe2::TypeMeta dtype = impl.dtype();
    return metadata.dim == impl.dim() && metadata.storage_offset == impl.storage_offset() &&
           metadata.numel == impl.numel() && metadata.keys == impl.key_set().raw_repr() &&
           std::memcmp(metadata.dtype_and_flags.data(), &dtype, sizeof(dtype)) == 0;
  }

  explicit TensorStamp(const at::Tensor& tensor)
      : impl_(tensor.unsafeGetTensorImpl()),
        storage_(impl_->unsafe_storage().unsafeGetStorageImpl()),
        pointer_(&storage_->data_ptr()),
        memory_(first_pair(*pointer_)) {
    // The last size follows from numel and the other sizes, except when numel is 0.
    const std::int64_t dims = impl_->numel() == 0 ? kMostDims : impl_->dim();
    has_3_dims_ = dims >= 3;
    has_5_dims_ = dims >= 5;
    for (std::size_t i = 0; i < kPairs.size(); ++i) pairs_[i] = pair_of(*impl_, i);
  }

  const c10::TensorImpl* impl() const { return impl_; }

  // Returns false if the tensor has another storage. Otherwise adds the bits in which the tensor differs from
  // its recorded state. The deleter is one of them: it changes when the tensor begins to share its bytes
  // lazily (copy on write), after which they must not be written.
  [[gnu::always_inline]] bool compare(TensorDifferences& differ) const {
    // The old storage may have been freed.
    if (impl_->unsafe_storage().unsafeGetStorageImpl() != storage_) [[unlikely]]
      return false;
    differ.pairs |= first_pair(*pointer_) ^ memory_;
    compare_pairs(0, 4, differ);
    if (has_3_dims_) [[unlikely]] {
      compare_pairs(4, 6, differ);
      if (has_5_dims_) compare_pairs(6, 8, differ);
    }
    return true;
  }

 private:
  using Pair = TensorDifferences::Pair;
  static constexpr std::int64_t kMostDims = 5;
  // The last members of a TensorImpl, in their order (c10/core/TensorImpl.h): all that it says of its tensor
  // but the storage, the version and what autograd needs. Sizes of more dimensions lie elsewhere.
  struct Metadata {
    std::int64_t dim;
    std::array<std::int64_t, kMostDims> sizes, strides;
    std::int64_t storage_offset, numel;
    std::array<std::byte, sizeof(std::uint64_t)> dtype_and_flags;  // begins with the dtype
    std::uint64_t keys;
  };
  // The offsets of the pairs of words that are compared. A tensor of up to two dimensions needs the first
  // four, because its last size follows from numel. One of up to four dimensions needs the first six.
  static constexpr std::array<std::size_t, 8> kPairs = {offsetof(Metadata, dim),
                                                        offsetof(Metadata, strides),
                                                        offsetof(Metadata, storage_offset),
                                                        offsetof(Metadata, dtype_and_flags),
                                                        offsetof(Metadata, sizes) + 8,
                                                        offsetof(Metadata, strides) + 16,
                                                        offsetof(Metadata, sizes) + 24,
                                                        offsetof(Metadata, strides) + 24};

  static std::uint64_t address(const void* pointer) { return std::bit_cast<std::uintptr_t>(pointer); }
  // The address of the bytes and their deleter.
  [[gnu::always_inline]] static Pair first_pair(const c10::DataPtr& pointer) {
    Pair pair;
    std::memcpy(&pair, reinterpret_cast<const std::byte*>(&pointer), sizeof(pair));
    return pair;
  }
  static const std::byte* bytes_of(const c10::TensorImpl& impl) {
    return reinterpret_cast<const std::byte*>(&impl + 1) - sizeof(Metadata);
  }
  [[gnu::always_inline]] static Pair pair_of(const c10::TensorImpl& impl, std::size_t i) {
    Pair pair;
    std::memcpy(&pair, bytes_of(impl) + kPairs[i], sizeof(pair));
    return pair;
  }
  [[gnu::always_inline]] void compare_pairs(std::size_t first, std::size_t end,
                                            TensorDifferences& differ) const {
    for (std::size_t i = first; i < end; ++i) differ.pairs |= pair_of(*impl_, i) ^ pairs_[i];
  }

  const c10::TensorImpl* impl_;
  const c10::StorageImpl* storage_;
  const c10::DataPtr* pointer_;
  Pair memory_;
  bool has_3_dims_ = false, has_5_dims_ = false;  // or more
  std::array<Pair, kPairs.size()> pairs_;
};

// True if all tensors are as they were when they got their stamps. Stamp::compare returns false if its tensor
// has changed, or else adds what differs.
template <class Stamp>
[[gnu::always_inline]] inline bool all_hold(const std::vector<Stamp>& stamps) {
  TensorDifferences differ;
  for (const Stamp& stamp : stamps) {
    if (!stamp.compare(differ)) [[unlikely]]
      return false;
  }
  return !differ.any();
}

}  // namespace sr
