// Storage groups: the algorithm of upstream's static runtime (StandardMemoryPlanner), and the same with a
// look at sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <sr/memory/placement.hpp>
#include <sr/memory/planner.hpp>

namespace sr::memory {

// Requests whose lifetimes do not meet share a group, which is as large as its largest member; groups lie one
// after another. A member that grows moves nothing inside its group, hence the name. Upstream takes the group
// that became free last, whatever its size, and writes nothing in place; that is one of the four ways tried,
// so it never needs less than this.
struct StandardResizing {
  static constexpr std::string_view name = "standard_resizing";

  static Layout plan(std::span<const Request> requests) {
    const std::vector<std::uint32_t> none(requests.size(), kNoRequest);
    const std::vector<std::uint32_t> inputs = dying_inputs(requests);
    const std::vector<std::uint32_t> births = birth_order(requests);
    std::vector<std::uint32_t> deaths(requests.size());
    std::iota(deaths.begin(), deaths.end(), 0U);
    std::ranges::stable_sort(deaths, {}, [&](std::uint32_t i) { return death(requests[i]); });

    Layout best{{}, std::numeric_limits<Bytes>::max()};
    for (const Choice choice : {Choice::best_fit, Choice::freed_last}) {
      for (const auto* taken_over : {&inputs, &none}) {
        Layout layout = group(requests, births, deaths, *taken_over, choice);
        if (layout.total < best.total) best = std::move(layout);
      }
    }
    return best;
  }

 private:
  static constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};

  struct Group {
    Bytes bytes = 0;
    Bytes alignment = kAlignment;
    std::uint32_t owner = kNoRequest;  // who is alive in it

    void add(const Request& request, std::uint32_t index) {
      alignment = std::max(alignment, request.alignment);
      bytes = aligned_offset(std::max(bytes, request.bytes), alignment);
      owner = index;
    }
  };

  enum class Choice { best_fit, freed_last };

  static Layout group(std::span<const Request> requests, std::span<const std::uint32_t> births,
                      std::span<const std::uint32_t> deaths, std::span<const std::uint32_t> inputs,
                      Choice choice) {
    std::vector<Group> groups;
    std::vector<std::uint32_t> free_groups;  // in the order they became free
    std::vector<std::uint32_t> group_of(requests.size(), kNoGroup);
    auto dying = deaths.begin();
    for (const std::uint32_t i : births) {
      for (; dying != deaths.end() && death(requests[*dying]) <= requests[i].first; ++dying) {
        const std::uint32_t group = group_of[*dying];
        if (group != kNoGroup && groups[group].owner == *dying) free_groups.push_back(group);
      }
      if (requests[i].bytes == 0) continue;
      if (inputs[i] != kNoRequest) {
        group_of[i] = group_of[inputs[i]];
      } else if (free_groups.empty()) {
        group_of[i] = static_cast<std::uint32_t>(groups.size());
        groups.emplace_back();
      } else {
        const auto chosen = choice == Choice::best_fit ? best_fit(groups, free_groups, requests[i].bytes)
                                                       : free_groups.end() - 1;
        group_of[i] = *chosen;
        free_groups.erase(chosen);
      }
      groups[group_of[i]].add(requests[i], i);
    }
    return lay_out(groups, group_of);
  }

  // The smallest free group that is large enough, else the largest one, which then grows the least.
  static std::vector<std::uint32_t>::iterator best_fit(const std::vector<Group>& groups,
                                                       std::vector<std::uint32_t>& free_groups, Bytes bytes) {
    return std::ranges::min_element(free_groups, {}, [&](std::uint32_t group) {
      const Bytes size = groups[group].bytes;
      return size >= bytes ? std::tuple{false, size, group} : std::tuple{true, ~size, group};
    });
  }

  static Layout lay_out(const std::vector<Group>& groups, const std::vector<std::uint32_t>& group_of) {
    std::vector<Bytes> starts;
    starts.reserve(groups.size());
    Layout layout;
    for (const Group& group : groups) {
      starts.push_back(aligned_offset(layout.total, group.alignment));
      layout.total = end_of(starts.back(), group.bytes);
    }
    layout.offsets.reserve(group_of.size());
    for (const std::uint32_t group : group_of)
      layout.offsets.push_back(group == kNoGroup ? 0 : starts[group]);
    return layout;
  }
};
static_assert(Planner<StandardResizing>);

}  // namespace sr::memory
