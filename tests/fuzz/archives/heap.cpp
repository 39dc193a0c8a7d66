#include "fuzz/archives/heap.hpp"

#include <atomic>
#include <cstddef>

// Of the sanitizers' common interface (sanitizer/allocator_interface.h); null without one.
extern "C" {
[[gnu::weak]] int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*,
                                                                              std::size_t),
                                                            void (*freed)(const volatile void*));
[[gnu::weak]] std::size_t __sanitizer_get_allocated_size(const volatile void* address);
}

namespace sr::fuzz {

namespace {

std::atomic<std::int64_t> live = 0, peak = 0;

void allocated(const volatile void* /*address*/, std::size_t size) {
  const std::int64_t now = live.fetch_add(static_cast<std::int64_t>(size), std::memory_order_relaxed) +
                           static_cast<std::int64_t>(size);
  std::int64_t before = peak.load(std::memory_order_relaxed);
  while (before < now && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}

void freed(const volatile void* address) {
  if (address == nullptr) return;
  live.fetch_sub(static_cast<std::int64_t>(__sanitizer_get_allocated_size(address)),
                 std::memory_order_relaxed);
}

const bool installed = __sanitizer_install_malloc_and_free_hooks != nullptr &&
                       __sanitizer_install_malloc_and_free_hooks(&allocated, &freed) > 0;

}  // namespace

HeapPeak::HeapPeak() : before_(live) {
  peak = before_;
}

std::optional<std::int64_t> HeapPeak::bytes() const {
  if (!installed) return std::nullopt;
  return peak - before_;
}

}  // namespace sr::fuzz
