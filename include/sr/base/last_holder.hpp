// Memory that others have read and let go of.
#pragma once

#include <atomic>

#include <sr/base/config.hpp>

namespace sr::detail {

// Must be called before memory is written again that no other thread holds any more, as the use counts say.
// `held` is the tensor or the storage that others held. LibTorch reads use counts without ordering: on
// processors that reorder memory accesses, what the last holder read before it let go could otherwise be read
// after the write.
template <class Held>
void follow_last_holder(const Held& held) {
  if constexpr (kUnderThreadSanitizer) {
    const Held also = held;  // it does not know fences, but the order that letting go implies
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);
  }
}

}  // namespace sr::detail
