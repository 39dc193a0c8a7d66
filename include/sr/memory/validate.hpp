// The judge of every plan.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <sr/memory/request.hpp>

namespace sr::memory {

// A sentence that names the first fault, or nothing when the layout is right: as many offsets as requests,
// all aligned and inside the buffer, and no byte belongs to two requests at one step. The one exception is an
// output written in place, see Request::may_reuse_input.
std::optional<std::string> validate(std::span<const Request> requests, const Layout& layout);

}  // namespace sr::memory
