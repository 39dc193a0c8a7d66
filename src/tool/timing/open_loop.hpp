// Runs an open-loop load: calls arrive whether or not earlier ones have ended.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "arrivals.hpp"
#include "runner.hpp"

namespace sr::tool {

// Each caller runs on its own thread: it takes the next arrival, waits until it is due, and answers it.
// Latency counts from the due time, so that it includes the time in the queue. Arrivals that have not started
// one second after twice the time over which they are spread are given up. `threads` is the number of
// intra-op threads of each caller. Throws what a runner throws.
Answered answer(const std::vector<std::unique_ptr<Runner>>& callers, const std::vector<ArgumentList>& sets,
                const std::vector<std::chrono::nanoseconds>& arrivals, int threads);

}  // namespace sr::tool
