// Storage groups: the algorithm of PyTorch's Static Runtime (StandardMemoryPlanner), and variants that
// consider sizes.
#pragma once

#include <span>
#include <string_view>

#include <sr/memory/planner.hpp>

namespace sr::memory {

// Requests whose lifetimes do not overlap share a group, which is as large as its largest member; groups lie
// one after another. A member that grows moves nothing inside its group, hence the name. Upstream takes the
// group that became free last, whatever its size, and writes nothing in place. That is one of the eight
// variants tried, so this planner never needs more memory than upstream's. Largest first is "greedy by size
// for shared objects" of arXiv 2001.03288.
struct StandardResizing {
  static constexpr std::string_view name = "standard_resizing";

  static Layout plan(std::span<const Request> requests);
};
static_assert(Planner<StandardResizing>);

}  // namespace sr::memory
