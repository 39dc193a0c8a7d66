// Marks storages that point into a buffer they do not own, and copies their bytes on demand.
#pragma once

#include <cstring>
#include <utility>

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>

namespace sr::memory {

// The deleter of pointers into a buffer; the buffer owns the bytes.
inline void leave_to_buffer(void*) {}

inline at::DataPtr borrow(void* address) {
  return {address, nullptr, &leave_to_buffer, at::Device(at::kCPU)};
}

inline bool is_borrowed(const c10::StorageImpl& storage) {
  return storage.data_ptr().get_deleter() == &leave_to_buffer;
}

// Copies the bytes of the storage out of the buffer, for holders that outlive the buffer's contents.
inline void detach(c10::StorageImpl& storage) {
  at::DataPtr own = c10::GetCPUAllocator()->allocate(storage.nbytes());
  if (storage.nbytes() != 0) std::memcpy(own.get(), storage.data(), storage.nbytes());
  storage.set_data_ptr_noswap(std::move(own));
}

// Frees the bytes of a storage that owns them. Its data pointer becomes null and nbytes() stays, so the
// storage must not be read until it gets other bytes. Does nothing to a storage that points into a buffer.
inline void free_bytes(c10::StorageImpl& storage) {
  if (!storage.resizable() || storage.device_type() != at::kCPU || is_borrowed(storage)) return;
  storage.set_data_ptr_noswap(at::DataPtr(nullptr, at::Device(at::kCPU)));
}

}  // namespace sr::memory
