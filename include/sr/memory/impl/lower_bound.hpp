// Definitions of <sr/memory/lower_bound.hpp>.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/memory/lower_bound.hpp>
#include <sr/memory/no_reuse.hpp>
#include <sr/memory/placement.hpp>

namespace sr::memory {

SR_INLINE Bytes lower_bound(std::span<const Request> requests) {
  struct Event {
    StepIndex step;
    bool birth;  // deaths first: lifetimes are half-open
    Bytes bytes;
  };
  std::vector<Event> events;
  events.reserve(2 * requests.size());
  const std::vector<std::uint32_t> inputs = dying_inputs(requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    // In the step in which both are alive only the larger one counts, which is the input.
    const StepIndex born = inputs[i] == kNoRequest ? request.first : request.first + 1;
    if (born >= lifetime_end(request)) continue;
    events.push_back({born, true, reserved(request)});
    events.push_back({lifetime_end(request), false, reserved(request)});
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

SR_INLINE Bytes no_reuse_bytes(std::span<const Request> requests) {
  return NoReuse::plan(requests).total;
}

}  // namespace sr::memory
