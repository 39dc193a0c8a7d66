// Places requests one after another, each in the best gap between those that are placed already.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <sr/memory/gap_index.hpp>
#include <sr/memory/placement.hpp>
#include <sr/memory/request.hpp>

namespace sr::memory {

// By index: the input that a request may overwrite, and the request that may overwrite an input.
struct ReusePairs {
  explicit ReusePairs(std::span<const Request> requests)
      : inputs(dying_inputs(requests)), reused_by(requests.size(), kNoRequest) {
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != kNoRequest) reused_by[inputs[i]] = i;
    }
  }

  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> reused_by;
};

// `places` holds the placed requests: `around(request)` returns a GapIndex with all whose lifetimes overlap
// the request's. Stops, with a total that is too large, as soon as the total exceeds `most`.
template <class Places>
Layout place_in_order(std::span<const Request> requests, const ReusePairs& partners,
                      std::span<const std::uint32_t> order, Places& places,
                      Bytes most = std::numeric_limits<Bytes>::max()) {
  Layout layout{std::vector<Bytes>(requests.size()), 0};
  std::vector<bool> done(requests.size());
  for (const std::uint32_t i : order) {
    const Request& request = requests[i];
    if (request.bytes == 0) continue;
    const Bytes bytes = reserved(request);
    GapIndex& placed = places.around(request);
    const std::span<const std::uint32_t> meeting = placed.meeting(request);
    const std::uint32_t input = partners.inputs[i], reuser = partners.reused_by[i];
    Bytes offset = GapIndex::kNowhere;
    for (const std::uint32_t partner : {input, reuser}) {
      if (offset != GapIndex::kNowhere || partner == kNoRequest || !done[partner]) continue;
      const Bytes wanted = layout.offsets[partner];
      const bool aligned = wanted % request.alignment == 0;
      if (aligned && placed.is_clear(meeting, wanted, bytes, input, reuser)) offset = wanted;
    }
    if (offset == GapIndex::kNowhere) offset = placed.best_gap(meeting, bytes, request.alignment);
    layout.offsets[i] = offset;
    layout.total = std::max(layout.total, end_of(offset, bytes));
    if (layout.total > most) return layout;
    places.insert(request, offset, i);
    done[i] = true;
  }
  return layout;
}

}  // namespace sr::memory
