// What no planner can beat, and what a planner should never exceed. Printed beside every plan.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <sr/memory/no_reuse.hpp>
#include <sr/memory/placement.hpp>
#include <sr/memory/request.hpp>

namespace sr::memory {

// Most bytes alive at once, each request rounded up to its alignment as every planner here reserves it. Not
// always reachable: finding the least possible total is NP-hard (dynamic storage allocation).
inline Bytes lower_bound(std::span<const Request> requests) {
  struct Event {
    Step step;
    bool birth;  // deaths first: lifetimes are half-open
    Bytes bytes;
  };
  std::vector<Event> events;
  events.reserve(2 * requests.size());
  const std::vector<std::uint32_t> inputs = dying_inputs(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    // The step both are alive at costs the larger one, which is the input.
    const Step born = inputs[i] == kNoRequest ? request.first : request.first + 1;
    if (born >= death(request)) continue;
    events.push_back({born, true, reserved(request)});
    events.push_back({death(request), false, reserved(request)});
  }
  std::ranges::sort(events, [](const Event& a, const Event& b) {
    return a.step != b.step ? a.step < b.step : a.birth < b.birth;
  });
  Bytes alive = 0;
  Bytes most = 0;
  for (const Event& event : events) {
    alive = event.birth ? end_of(alive, event.bytes) : alive - event.bytes;
    most = std::max(most, alive);
  }
  return most;
}

// Whether a search for something smaller is worth its time: more than 1/64 above the bound.
constexpr bool is_worth_improving(Bytes total, Bytes bound) {
  constexpr Bytes kWorthwhile = 64;
  return total - bound > bound / kWorthwhile;
}

// What the requests take when nothing is shared.
inline Bytes no_reuse_bytes(std::span<const Request> requests) {
  return NoReuse::plan(requests).total;
}

}  // namespace sr::memory
