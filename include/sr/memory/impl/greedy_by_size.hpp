// Definitions of <sr/memory/greedy_by_size.hpp>.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/memory/greedy_by_size.hpp>
#include <sr/memory/placed_in_order.hpp>
#include <sr/memory/placement.hpp>

namespace sr::memory {

namespace greedy_by_size {

// The steps are cut into windows in which equally many lifetimes begin. Most lifetimes lie inside one window,
// and only the requests that touch that window have to be looked at. Index 0 of `lists_` holds all requests,
// for lifetimes that cross windows.
class Windows {
 public:
  explicit Windows(std::span<const Request> requests) : lists_(kWindows + 1) {
    std::vector<StepIndex> births;
    births.reserve(requests.size());
    for (const Request& request : requests) births.push_back(request.first);
    std::ranges::sort(births);
    for (std::size_t i = 1; i < kWindows && !births.empty(); ++i)
      cuts_.push_back(births[births.size() * i / kWindows]);
  }

  GapIndex& around(const Request& request) {
    const std::size_t window = window_of(request.first);
    return lists_[window == window_of(lifetime_end(request) - 1) ? window : 0];
  }

  void insert(const Request& request, Bytes offset, std::uint32_t index) {
    lists_[0].insert(request, offset, index);
    const std::size_t last = window_of(lifetime_end(request) - 1);
    for (std::size_t i = window_of(request.first); i <= last; ++i) lists_[i].insert(request, offset, index);
  }

 private:
  static constexpr std::size_t kWindows = 8;

  std::size_t window_of(StepIndex step) const {
    return 1 + static_cast<std::size_t>(std::ranges::upper_bound(cuts_, step) - cuts_.begin());
  }

  std::vector<StepIndex> cuts_;
  std::vector<GapIndex> lists_;
};

}  // namespace greedy_by_size

SR_INLINE Layout GreedyBySize::plan(std::span<const Request> requests) {
  greedy_by_size::Windows windows(requests);
  return place_in_order(requests, ReusePairs(requests), by_size(requests), windows);
}

SR_INLINE std::vector<std::uint32_t> GreedyBySize::by_size(std::span<const Request> requests) {
  std::vector<std::uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::uint32_t index) { return reserved(requests[index]); });
  return order;
}

}  // namespace sr::memory
