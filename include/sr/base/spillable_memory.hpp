// Memory whose contents can be moved to a temporary file without changing its address.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <sys/mman.h>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/StorageImpl.h>

#include <sr/base/temporary_file.hpp>

namespace sr::detail {

// Owns whole pages. After spill() they are a private mapping of a file: the kernel reads a page from the file
// when it is accessed, and may evict it when memory is short. A write to a page makes a private copy of it in
// memory and does not change the file.
class SpillableMemory {
 public:
  // Throws std::bad_alloc.
  explicit SpillableMemory(std::size_t size)
      : size_(size), data_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  SpillableMemory(const SpillableMemory&) = delete;
  SpillableMemory& operator=(const SpillableMemory&) = delete;
  ~SpillableMemory() { munmap(data_, size_); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t size() const { return size_; }
  bool is_spilled() const { return is_spilled_.load(std::memory_order_acquire); }

  // Writes the contents to a temporary file and maps the file at the same address. If no file can be created
  // or written, the contents stay in memory. Only the first call does anything. Other threads may read the
  // memory during the call, because mmap replaces the pages atomically and the file has the same contents. No
  // thread may write to it.
  void spill() {
    if (was_tried_.exchange(true)) return;
    const auto file = TemporaryFile::make();
    if (!file || !file->write(data(), size_)) return;
    constexpr int kWritable = PROT_READ | PROT_WRITE;
    if (mmap(data_, size_, kWritable, MAP_PRIVATE | MAP_FIXED, file->descriptor(), 0) != MAP_FAILED)
      is_spilled_.store(true, std::memory_order_release);
  }

  // Copies the contents of a storage into a SpillableMemory and makes it the storage's memory. No thread may
  // read or write the storage during the call. Throws std::bad_alloc.
  static void adopt(c10::StorageImpl& storage) {
    auto memory = std::make_unique<SpillableMemory>(storage.nbytes());
    std::memcpy(memory->data(), storage.data(), storage.nbytes());
    void* const data = memory->data();
    storage.set_data_ptr_noswap(at::DataPtr(data, memory.release(), &release, c10::Device(c10::kCPU)));
  }

  // The SpillableMemory of a storage for which adopt() was called; null for other storages.
  static SpillableMemory* of(const c10::StorageImpl& storage) {
    return storage.data_ptr().cast_context<SpillableMemory>(&release);
  }

 private:
  static void release(void* memory) { delete static_cast<SpillableMemory*>(memory); }

  std::size_t size_;
  void* data_;
  std::atomic<bool> was_tried_ = false, is_spilled_ = false;
};

}  // namespace sr::detail
