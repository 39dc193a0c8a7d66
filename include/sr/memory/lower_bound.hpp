// Bounds of a layout's size: what no planner can beat, and what a planner should never exceed.
#pragma once

#include <span>

#include <sr/memory/request.hpp>

namespace sr::memory {

// The most bytes that are alive at once. Each request counts rounded up to its alignment, as every planner
// here reserves it. Not always reachable: finding the least possible total is NP-hard (dynamic storage
// allocation).
Bytes lower_bound(std::span<const Request> requests);

// True if a search for something smaller is worth its time: more than 1/64 above the bound.
constexpr bool is_worth_improving(Bytes total, Bytes bound) {
  constexpr Bytes kWorthwhile = 64;
  return total - bound > bound / kWorthwhile;
}

// The bytes that the requests take if none of them share memory.
Bytes no_reuse_bytes(std::span<const Request> requests);

}  // namespace sr::memory
