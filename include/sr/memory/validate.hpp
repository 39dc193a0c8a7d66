// True if a layout is right.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <sr/memory/request.hpp>

namespace sr::memory {

// Returns a sentence that names the first fault, or nothing if the layout is right: it has as many offsets as
// there are requests, all are aligned and inside the buffer, and no byte belongs to two requests in one step.
// The only exception is an output that is written in place, see Request::may_reuse_input.
std::optional<std::string> validate(std::span<const Request> requests, const Layout& layout);

}  // namespace sr::memory
