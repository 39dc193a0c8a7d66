// An open-loop load, whose arrivals are fixed before the first call, and its outcome.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sr::tool {

struct Load {
  double rate = 0;       // arrivals a second; 0: no load
  bool poisson = false;  // exponential gaps instead of equal ones
  std::uint64_t seed = 0;
};

// Times after the start, ascending, the first at 0. The same load has the same times on every machine.
std::vector<std::chrono::nanoseconds> arrival_times(const Load& load, std::size_t count);

// The time that those arrivals are spread over, a mean gap behind the last of them included. There are two or
// more.
std::chrono::nanoseconds horizon_of(const std::vector<std::chrono::nanoseconds>& arrivals);

// The outcome of a load.
struct Answered {
  // Nanoseconds from the intended arrival to the end of the call, by arrival. A call that was never begun has
  // those it had waited when the run was given up: its latency is longer than that.
  std::vector<float> latencies;
  std::size_t not_begun = 0;
  double offered_per_s = 0;
  double achieved_per_s = 0;  // calls begun, up to the last of them

  // True if the achieved rate is within 1 % of the offered one, so that queues do not grow.
  bool sustained() const { return not_begun == 0 && achieved_per_s >= 0.99 * offered_per_s; }
};

// A sentence on a load that was not sustained.
std::string verdict(const std::string& runner, const Answered& answered);

}  // namespace sr::tool
