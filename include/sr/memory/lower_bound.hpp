// What no planner can beat, and what a planner should never exceed. Printed beside every plan.
#pragma once

#include <span>

#include <sr/memory/request.hpp>

namespace sr::memory {

// Most bytes alive at once, each request rounded up to its alignment as every planner here reserves it. Not
// always reachable: finding the least possible total is NP-hard (dynamic storage allocation).
Bytes lower_bound(std::span<const Request> requests);

// Whether a search for something smaller is worth its time: more than 1/64 above the bound.
constexpr bool is_worth_improving(Bytes total, Bytes bound) {
  constexpr Bytes kWorthwhile = 64;
  return total - bound > bound / kWorthwhile;
}

// What the requests take when nothing is shared.
Bytes no_reuse_bytes(std::span<const Request> requests);

}  // namespace sr::memory
