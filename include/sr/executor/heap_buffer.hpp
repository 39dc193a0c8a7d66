// The memory in which tensors of a layout lie, on the general path and in replays.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/core/CPUAllocator.h>

#include <sr/base/large_pages.hpp>
#include <sr/memory/planner_ops.hpp>
#include <sr/memory/request.hpp>

namespace sr::memory {

// A block of LibTorch's CPU allocator, which grows and never shrinks. A planner may bring another type (the
// tests put each tensor on separate pages): its nested type `Buffer` replaces this one.
class HeapBuffer final : public AnyBuffer {
 public:
  void commit(std::span<const Request>, const Layout& layout) override {
    reserve(layout.total);
    offsets_ = layout.offsets;
  }
  std::byte* address(std::size_t index) const override { return data() + offsets_[index]; }
  const void* object() const override { return this; }

  // Makes room for `bytes`, and returns whether the memory was replaced, with other contents. Throws what the
  // allocator throws, and then keeps the old memory.
  bool reserve(Bytes bytes) {
    if (bytes <= capacity_) return false;
    at::DataPtr larger = c10::GetCPUAllocator()->allocate(bytes);
    sr::detail::prefer_large_pages(larger.get(), bytes);
    touch_pages(static_cast<std::byte*>(larger.get()), bytes);
    data_ = std::move(larger);
    capacity_ = bytes;
    return true;
  }
  std::byte* data() const { return static_cast<std::byte*>(data_.get()); }
  Bytes capacity() const { return capacity_; }

 private:
  // Writes to each page, so that the system maps all of them. A masked store whose inactive lanes lie in an
  // unmapped page is slow, and it does not map that page, so it stays slow. On Zen 4 this slowed down twelve
  // pooling steps of poolformer_s12 from 4 to 58 ms, and the whole call from 90 to 150 ms.
  static void touch_pages(volatile std::byte* memory, Bytes bytes) {
    constexpr Bytes kPage = 4096;
    for (Bytes at = 0; at < bytes; at += kPage) memory[at] = std::byte{0};
    memory[bytes - 1] = std::byte{0};
  }

  at::DataPtr data_;
  Bytes capacity_ = 0;
  std::vector<Bytes> offsets_;
};

inline std::unique_ptr<AnyBuffer> make_buffer(const PlannerOps& planner) {
  if (planner.make_buffer != nullptr) return planner.make_buffer();
  return std::make_unique<HeapBuffer>();
}

}  // namespace sr::memory
