// The baseline for comparisons: no two requests share bytes.
#pragma once

#include <span>
#include <string_view>

#include <sr/memory/planner.hpp>

namespace sr::memory {

struct NoReuse {
  static constexpr std::string_view name = "no_reuse";

  static Layout plan(std::span<const Request> requests);
};
static_assert(Planner<NoReuse>);

}  // namespace sr::memory
