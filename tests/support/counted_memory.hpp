// How many bytes tensors hold, and how many they held at most.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <c10/core/impl/alloc_cpu.h>

namespace sr::test {

// Counts the bytes of all CPU tensors that are allocated during its lifetime. Only one may exist at a time.
// Tensors may outlive it.
class CountedMemory {
 public:
  CountedMemory() : before_(c10::GetCPUAllocator()) {
    held() = most() = 0;
    c10::SetCPUAllocator(&counter(), kPriority);
  }
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;
  ~CountedMemory() { c10::SetCPUAllocator(before_, kPriority); }

  // The most bytes that were held during the call, beyond those that were held before it.
  template <class Call>
  std::int64_t most_during(const Call& call) {
    const std::int64_t before = held();
    most() = before;
    call();
    return most() - before;
  }

 private:
  static constexpr std::uint8_t kPriority = 100;

  // The number of bytes stands before them.
  static constexpr std::size_t kHeader = c10::gAlignment;
  struct Counter final : c10::Allocator {
    at::DataPtr allocate(std::size_t count) override {
      auto* const bytes = static_cast<std::byte*>(c10::alloc_cpu(count + kHeader)) + kHeader;
      std::memcpy(bytes - kHeader, &count, sizeof(count));
      held() += static_cast<std::int64_t>(count);
      most() = std::max(most().load(), held().load());
      return {bytes, bytes, &release, at::Device(at::kCPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, std::size_t count) const override {
      std::memcpy(to, from, count);
    }
  };
  static void release(void* bytes) {
    std::size_t count = 0;
    std::memcpy(&count, static_cast<std::byte*>(bytes) - kHeader, sizeof(count));
    held() -= static_cast<std::int64_t>(count);
    c10::free_cpu(static_cast<std::byte*>(bytes) - kHeader);
  }
  static Counter& counter() {
    static Counter one;
    return one;
  }
  static std::atomic<std::int64_t>& held() {
    static std::atomic<std::int64_t> bytes = 0;
    return bytes;
  }
  static std::atomic<std::int64_t>& most() {
    static std::atomic<std::int64_t> bytes = 0;
    return bytes;
  }

  c10::Allocator* before_;
};

}  // namespace sr::test
