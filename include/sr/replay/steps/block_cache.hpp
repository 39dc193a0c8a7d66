// A cache of memory blocks for results. The C library caches freed blocks of up to 1 KiB for each thread;
// larger blocks cost several times as much, so a few of each size are kept here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <sr/base/config.hpp>

namespace sr::replay::detail {

// Blocks of 2, 4, 8 and 16 KiB; at most 120 KiB for each thread, freed when the thread ends.
class BlockCache {
 public:
  static constexpr std::size_t kLargest = 16 * 1024;

  // Returns memory with an alignment of 64. `block` is what `give` takes, which any thread may call.
  static void* take(std::size_t bytes, void*& block) {
    const std::uint32_t size = kReusesBlocks ? size_of(bytes) : kNotKept;
    block = size == kNotKept ? nullptr : pop(size);
    if (block == nullptr) {
      // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): what `give` may call from any thread
      block = std::malloc((size == kNotKept ? bytes : kSmallest << size) + kAlignment);
      if (block == nullptr) throw std::bad_alloc();
      *static_cast<std::uint32_t*>(block) = size;
    }
    const auto behind = reinterpret_cast<std::uintptr_t>(block) + kAlignment;  // there is place for the size
    return reinterpret_cast<void*>(behind & ~std::uintptr_t{kAlignment - 1});
  }

  static void give(void* block) {
    const std::uint32_t size = *static_cast<std::uint32_t*>(block);
    if (size == kNotKept || !push(size, block)) std::free(block);  // NOLINT(cppcoreguidelines-no-malloc)
  }

 private:
  static constexpr std::size_t kAlignment = 64, kSmallest = 2048, kSizes = 4, kKept = 4;
  static constexpr std::uint32_t kNotKept = 0xFFFF;
  static constexpr std::size_t kOfTheLibrary = 1024 - kAlignment;

  struct List {
    std::array<void*, kKept> blocks{};
    std::size_t count = 0;
  };
  using Lists = std::array<List, kSizes>;

  struct Owner {
    Lists lists;
    Owner() { mine_ = &lists; }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() {
      mine_ = nullptr;
      for (List& list : lists) {
        while (list.count != 0) std::free(list.blocks[--list.count]);  // NOLINT(cppcoreguidelines-no-malloc)
      }
    }
  };

  // Returns null if the thread is ending.
  static Lists* mine() {
    if (mine_ == nullptr) {
      static thread_local Owner owner;
    }
    return mine_;
  }

  static std::uint32_t size_of(std::size_t bytes) {
    if (bytes <= kOfTheLibrary || bytes > kLargest) return kNotKept;
    std::uint32_t size = 0;
    while (bytes > kSmallest << size) ++size;
    return size;
  }

  static void* pop(std::uint32_t size) {
    Lists* const lists = mine();
    if (lists == nullptr || (*lists)[size].count == 0) return nullptr;
    List& list = (*lists)[size];
    return list.blocks[--list.count];
  }

  static bool push(std::uint32_t size, void* block) {
    Lists* const lists = mine();
    if (lists == nullptr || (*lists)[size].count == kKept) return false;
    List& list = (*lists)[size];
    list.blocks[list.count++] = block;
    return true;
  }

  inline static thread_local Lists* mine_ = nullptr;
};

}  // namespace sr::replay::detail
