// Which steps are worth several threads.
#pragma once

#include <cstdint>

#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/shares.hpp>

namespace sr::replay::lower {

// Whether a step of so much work is beyond a limit for one thread, and the caller has more of them. With one
// thread the program holds for any amount of work.
inline bool is_beyond_one_thread(Lowering& lowering, const Size& work, std::int64_t limit) {
  if (work.is_constant()) return work > limit && lowering.threads() != 1;
  return lowering.threads() != 1 && work > limit;
}
inline bool is_for_threads(Lowering& lowering, const Size& work) {
  return is_beyond_one_thread(lowering, work, kLeastShared);
}
// Beyond this size LibTorch's kernels on several threads are faster than those of our convolutions, whose
// images leave the cache.
inline constexpr std::int64_t kMostConvolved = 1'000'000'000;

}  // namespace sr::replay::lower
