// Definitions of <sr/memory/no_reuse.hpp>.
#pragma once

#include <span>

#include <sr/base/build.hpp>
#include <sr/memory/no_reuse.hpp>
#include <sr/memory/placement.hpp>

namespace sr::memory {

SR_INLINE Layout NoReuse::plan(std::span<const Request> requests) {
  Layout layout;
  layout.offsets.reserve(requests.size());
  for (const Request& request : requests) {
    const Bytes offset = request.bytes == 0 ? 0 : aligned_offset(layout.total, request.alignment);
    layout.offsets.push_back(offset);
    if (request.bytes != 0) layout.total = end_of(offset, reserved(request));
  }
  return layout;
}

}  // namespace sr::memory
