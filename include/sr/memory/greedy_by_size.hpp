// Greedy by size with offsets: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference", arXiv 2001.03288, section 5.2.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <sr/memory/planner.hpp>

namespace sr::memory {

// Places the largest request first. Each goes into the smallest gap that fits between the placed requests
// whose lifetimes overlap its own; the gap in front of the first of them counts, too (XNNPACK left it out for
// years: issue 10800).
struct GreedyBySize {
  static constexpr std::string_view name = "greedy_by_size";

  static Layout plan(std::span<const Request> requests);

  // Indices by size, the largest first, ties by index.
  static std::vector<std::uint32_t> by_size(std::span<const Request> requests);
};
static_assert(Planner<GreedyBySize>);

}  // namespace sr::memory
