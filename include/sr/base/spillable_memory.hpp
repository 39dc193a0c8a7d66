// Memory whose bytes can move to a temporary file, and stay where they are for everybody who reads them.
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

// Pages of its own. Once they are spilled, they are a private mapping of the file: the system reads a page
// when it is used, and may drop it when memory is short. Who writes to a page gets it back into memory; the
// file does not change.
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

  // Moves the bytes to a file; they stay in memory if none can be made or written. Only the first call of a
  // process does anything. Others may read the bytes meanwhile, and nobody may write them: mmap replaces the
  // pages by others with the same contents at once.
  void spill() {
    if (was_tried_.exchange(true)) return;
    const auto file = TemporaryFile::make();
    if (!file || !file->write(data(), size_)) return;
    constexpr int kWritable = PROT_READ | PROT_WRITE;
    if (mmap(data_, size_, kWritable, MAP_PRIVATE | MAP_FIXED, file->descriptor(), 0) != MAP_FAILED)
      is_spilled_.store(true, std::memory_order_release);
  }

  // Moves the bytes of a storage into memory that can be spilled. Nobody may read or write them meanwhile.
  // Throws std::bad_alloc.
  static void adopt(c10::StorageImpl& storage) {
    auto memory = std::make_unique<SpillableMemory>(storage.nbytes());
    std::memcpy(memory->data(), storage.data(), storage.nbytes());
    void* const data = memory->data();
    storage.set_data_ptr_noswap(at::DataPtr(data, memory.release(), &release, c10::Device(c10::kCPU)));
  }

  // The memory of a storage that was adopted; null for others.
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
