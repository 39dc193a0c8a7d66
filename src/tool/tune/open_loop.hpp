// Calls that arrive whether or not the ones before them are done.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "../runner.hpp"
#include "arrivals.hpp"

namespace sr::tool {

// Each caller is a caller on a thread of its own that takes the next arrival, waits until it is due and
// answers it. Latency counts from when it was due, so that time spent in the queue is part of it. Gives up on
// what has not begun a second after twice the time the arrivals are spread over. `threads`: intra-op, of each
// caller. Throws what a runner throws.
Answered answer(const std::vector<std::unique_ptr<Runner>>& callers, const std::vector<ArgumentList>& sets,
                const std::vector<std::chrono::nanoseconds>& arrivals, int threads);

}  // namespace sr::tool
