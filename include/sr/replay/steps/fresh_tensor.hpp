// Makes tensors for results without the dispatcher and with as few allocations as possible.
#pragma once

#include <cstdint>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <sr/base/extent.hpp>
#include <sr/replay/steps/block_cache.hpp>

namespace sr::replay {

namespace detail {

// Bytes with an alignment of 64, as LibTorch's allocator returns, which takes several times as long for small
// blocks. The block is the context of the deleter, so that freeing needs no search.
inline at::DataPtr allocate(std::size_t bytes) {
  if (bytes > BlockCache::kLargest || bytes == 0) return c10::GetCPUAllocator()->allocate(bytes);
  void* block = nullptr;
  void* const begin = BlockCache::take(bytes, block);
  return {begin, block, &BlockCache::give, at::Device(at::kCPU)};
}

}  // namespace detail

inline c10::intrusive_ptr<c10::StorageImpl> fresh_storage(std::size_t bytes) {
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                               detail::allocate(bytes), c10::GetCPUAllocator(),
                                               /*resizable=*/true);
}

// A dense tensor on a storage. `offset` and strides are in elements.
inline at::Tensor tensor_on(c10::Storage storage, at::ScalarType dtype, at::IntArrayRef sizes,
                            at::IntArrayRef strides, std::int64_t offset) {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(dtype));
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(sizes, strides, offset);
  return tensor;
}

// Another tensor with the same bytes and its own metadata.
inline at::Tensor same_view(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  return at::Tensor::wrap_tensor_impl(
      impl->shallow_copy_and_detach(impl->version_counter(), /*allow_tensor_metadata_change=*/true));
}

// A tensor on foreign bytes, which must reach as far as its elements do.
inline at::Tensor tensor_over(at::DataPtr data, at::ScalarType dtype, at::IntArrayRef sizes,
                              at::IntArrayRef strides) {
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), extent_of(sizes, strides) * c10::elementSize(dtype),
      std::move(data), c10::GetCPUAllocator(), /*resizable=*/true);
  return tensor_on(c10::Storage(std::move(storage)), dtype, sizes, strides, 0);
}

}  // namespace sr::replay
