// The baseline: every request has its own bytes for ever.
#pragma once

#include <span>
#include <string_view>

#include <sr/memory/placement.hpp>
#include <sr/memory/planner.hpp>

namespace sr::memory {

struct NoReuse {
  static constexpr std::string_view name = "no_reuse";

  static Layout plan(std::span<const Request> requests) {
    Layout layout;
    layout.offsets.reserve(requests.size());
    for (const Request& request : requests) {
      const Bytes offset = request.bytes == 0 ? 0 : aligned_offset(layout.total, request.alignment);
      layout.offsets.push_back(offset);
      if (request.bytes != 0) layout.total = end_of(offset, reserved(request));
    }
    return layout;
  }
};
static_assert(Planner<NoReuse>);

}  // namespace sr::memory
