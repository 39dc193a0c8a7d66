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
// Products that take one thread longer than 80 microseconds are shared by threads. Starting threads costs 2
// microseconds, but if another process uses a processor, the step may wait milliseconds for one of them.
inline constexpr std::int64_t kLeastShared = 4'000'000;
inline bool is_for_threads(Lowering& lowering, const Size& work) {
  return is_beyond_one_thread(lowering, work, kLeastShared);
}
// Beyond this size LibTorch's kernels on several threads are faster, also than two threads of our
// convolutions.
inline bool is_too_much_for_one(Lowering& lowering, const Size& work) {
  constexpr std::int64_t kMostForOneThread = 32'000'000;
  return is_beyond_one_thread(lowering, work, kMostForOneThread);
}

}  // namespace sr::replay::lower
