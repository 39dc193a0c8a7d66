// Memory that others have read and let go of.
#pragma once

#include <atomic>

#include <c10/core/Storage.h>

#include <sr/base/config.hpp>

namespace sr::detail {

// Must be called before memory is written again that no other thread holds any more, as the use counts say.
// LibTorch reads those without ordering: on processors that reorder memory accesses, what the last holder
// read before it let go could otherwise be read after the write.
inline void follow_last_holder(const c10::Storage& storage) {
  if constexpr (kUnderThreadSanitizer) {
    const c10::Storage also = storage;  // it does not know fences, but the order that letting go implies
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);
  }
}

}  // namespace sr::detail
