// Requests as a scan sees them: rounded to their alignment, and readable in both directions of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <sr/memory/placement.hpp>
#include <sr/memory/request.hpp>

namespace sr::memory {

struct Interval {
  Bytes bytes;
  Bytes alignment;
  StepIndex first;
  StepIndex end;
  std::uint32_t from;  // whose bytes it may take over
};

inline std::vector<Interval> to_intervals(std::span<const Request> requests) {
  const std::vector<std::uint32_t> inputs = dying_inputs(requests);
  std::vector<Interval> intervals;
  intervals.reserve(requests.size());
  for (const Request& request : requests) {
    intervals.push_back({reserved(request), request.alignment, request.first, lifetime_end(request),
                         inputs[intervals.size()]});
  }
  return intervals;
}

// A layout is right forwards exactly when it is right backwards. Read backwards, the input takes over from
// its output.
inline void reverse_time(std::vector<Interval>& intervals) {
  std::vector<std::uint32_t> reused_by(intervals.size(), kNoRequest);
  for (std::uint32_t i = 0; i < intervals.size(); ++i) {
    if (intervals[i].from != kNoRequest) reused_by[intervals[i].from] = i;
  }
  for (std::uint32_t i = 0; i < intervals.size(); ++i) {
    Interval& interval = intervals[i];
    const StepIndex first = interval.first;
    interval.first = ~interval.end;
    interval.end = ~first;
    interval.from = reused_by[i];
  }
}

// How many pairs a quadratic planner has to look at, roughly: requests times how many are alive on average.
inline double pairs_alive(std::span<const Interval> intervals) {
  if (intervals.empty()) return 0;
  double steps = 0;
  StepIndex first = intervals.front().first;
  StepIndex last = intervals.front().end;
  for (const Interval& interval : intervals) {
    steps += static_cast<double>(interval.end - interval.first);
    first = std::min(first, interval.first);
    last = std::max(last, interval.end);
  }
  return static_cast<double>(intervals.size()) * steps / static_cast<double>(last - first);
}

}  // namespace sr::memory
