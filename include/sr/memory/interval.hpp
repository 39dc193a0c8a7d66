// Requests as a scan reads them: rounded up to their alignment, and reversible in time.
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

// Reverses time. A layout is right forwards exactly if it is right backwards; backwards, an input overwrites
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

// Roughly the number of pairs that a quadratic planner looks at: the number of requests times the mean number
// alive.
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
