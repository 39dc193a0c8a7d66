// Times one runner for one slice of a round.
#pragma once

#include <cstdint>
#include <vector>

#include "../inputs/inputs.hpp"
#include "../verbs/bench_entry.hpp"
#include "clock.hpp"

namespace sr::tool {

// How long one runner is timed in one round.
struct Slice {
  std::int64_t calls = 0;  // 0: by time
  double seconds = 0;
  std::size_t most_samples = 0;
};

// Calls each caller `calls` times, and every input set at least three times, but no longer than
// `most_seconds` once that is done. Sets the entry's seconds_per_call. Throws what a runner throws.
void warm_up(Entry& entry, const std::vector<ArgumentList>& sets, std::int64_t calls, double most_seconds);

// All callers at once, each on its own thread when there are several. Adds samples and the round's
// median to `entry`. Throws what a runner throws.
void time_slice(Entry& entry, const std::vector<ArgumentList>& sets, const Slice& slice, int threads);

}  // namespace sr::tool
