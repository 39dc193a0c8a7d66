// Which steps are worth several threads.
#pragma once

#include <cstdint>

#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

// Whether a step of so much work is beyond a limit for one thread, and the caller has more of them. With one
// thread the program holds for any amount of work.
inline bool is_beyond_one_thread(Lowering& lowering, const Size& work, std::int64_t limit) {
  if (work.is_constant()) return work > limit && lowering.threads() != 1;
  return lowering.threads() != 1 && work > limit;
}
// Products that take one thread longer than 20 microseconds may be shared by threads: whether they are, times
// decide, see SharingChoice.
inline constexpr std::int64_t kLeastShared = 1'000'000;
inline bool is_for_threads(Lowering& lowering, const Size& work) {
  return is_beyond_one_thread(lowering, work, kLeastShared);
}
// Beyond these sizes LibTorch's kernels on several threads are faster: than two threads of our convolutions,
// whose images leave the cache, and than our attention, which one thread computes.
inline constexpr std::int64_t kMostConvolved = 1'000'000'000, kMostAttended = 32'000'000;
inline bool is_for_libtorch(Lowering& lowering, const Size& work, std::int64_t limit) {
  return is_beyond_one_thread(lowering, work, limit);
}

}  // namespace sr::replay::lower
