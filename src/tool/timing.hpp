// Times one runner for one slice of a round.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "bench_entry.hpp"
#include "inputs.hpp"

namespace sr::tool {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How long one runner is timed in one round.
struct Slice {
  std::int64_t calls = 0;  // 0: by time
  double seconds = 0;
  std::size_t most_samples = 0;
};

// All lanes at once, each on a thread of its own when there are several. Adds samples and the round's median
// to `entry`. Throws what a runner throws.
void time_slice(Entry& entry, const std::vector<ArgumentList>& sets, const Slice& slice, int threads);

}  // namespace sr::tool
