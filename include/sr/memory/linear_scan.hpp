// Linear scan in the manner of register allocation (Poletto and Sarkar, TOPLAS 1999; upstream PR 64348 tried
// it on tensors), over a buffer with a free list.
#pragma once

#include <span>
#include <string_view>

#include <sr/memory/planner.hpp>

namespace sr::memory {

// Scans the requests by first step over a buffer that starts as large as the lower bound. A layout that is
// right forwards in time is also right backwards, and which direction packs better depends on whether the net
// narrows or widens: both are tried until one meets the bound. A scan cannot foresee a large request. Where
// that costs memory and the requests are few, the largest are placed first instead.
struct LinearScan {
  static constexpr std::string_view name = "linear_scan";

  static Layout plan(std::span<const Request> requests);
  static Layout refine(std::span<const Request> requests, Layout layout);
};
static_assert(Planner<LinearScan>);

}  // namespace sr::memory
