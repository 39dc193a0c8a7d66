// Definitions of <sr/memory/standard_resizing.hpp>.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/memory/placement.hpp>
#include <sr/memory/standard_resizing.hpp>

namespace sr::memory {

namespace storage_groups {

inline constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};
inline constexpr std::size_t kFew = 700;  // largest first compares with every group: a millisecond at most

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

enum class Choice { best_fit, freed_last, largest };

inline bool meets(const std::map<StepIndex, StepIndex>& alive, StepIndex first, StepIndex last) {
  const auto after = alive.lower_bound(first);
  if (after != alive.end() && after->first < last) return true;
  return after != alive.begin() && std::prev(after)->second > first;
}

// The smallest free group that is large enough; else the largest free group, which then has to grow the
// least.
inline std::vector<std::uint32_t>::iterator best_fit(const std::vector<Group>& groups,
                                                     std::vector<std::uint32_t>& free_groups, Bytes bytes) {
  return std::ranges::min_element(free_groups, {}, [&](std::uint32_t group) {
    const Bytes size = groups[group].bytes;
    return size >= bytes ? std::tuple{false, size, group} : std::tuple{true, ~size, group};
  });
}

inline Layout lay_out(const std::vector<Group>& groups, const std::vector<std::uint32_t>& group_of) {
  std::vector<Bytes> starts;
  starts.reserve(groups.size());
  Layout layout;
  for (const Group& group : groups) {
    starts.push_back(aligned_offset(layout.total, group.alignment));
    layout.total = end_of(starts.back(), group.bytes);
  }
  layout.offsets.reserve(group_of.size());
  for (const std::uint32_t group : group_of) layout.offsets.push_back(group == kNoGroup ? 0 : starts[group]);
  return layout;
}

inline Layout group(std::span<const Request> requests, std::span<const std::uint32_t> births,
                    std::span<const std::uint32_t> deaths, std::span<const std::uint32_t> inputs,
                    Choice choice) {
  std::vector<Group> groups;
  std::vector<std::uint32_t> free_groups;  // in the order they became free
  std::vector<std::uint32_t> group_of(requests.size(), kNoGroup);
  auto dying = deaths.begin();
  for (const std::uint32_t i : births) {
    for (; dying != deaths.end() && lifetime_end(requests[*dying]) <= requests[i].first; ++dying) {
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

// Requests that overwrite one another form a chain. The largest chain chooses first, and takes the smallest
// (or the largest) group none of whose members is alive at the same time. Unlike in a scan by first step, a
// small value that lives long cannot occupy a group that a large one needs later.
inline Layout group_largest_first(std::span<const Request> requests, std::span<const std::uint32_t> births,
                                  std::span<const std::uint32_t> inputs, Choice choice) {
  struct Chain {
    Bytes bytes = 0;
    StepIndex first = 0;
    StepIndex end = 0;
    std::vector<std::uint32_t> members;
  };
  std::vector<Chain> chains;
  std::vector<std::uint32_t> chain_of(requests.size(), 0);
  for (const std::uint32_t i : births) {
    if (requests[i].bytes == 0) continue;
    if (inputs[i] == kNoRequest) {
      chain_of[i] = static_cast<std::uint32_t>(chains.size());
      chains.push_back({0, requests[i].first, 0, {}});
    } else {
      chain_of[i] = chain_of[inputs[i]];
    }
    Chain& chain = chains[chain_of[i]];
    chain.bytes = std::max(chain.bytes, requests[i].bytes);
    chain.end = std::max(chain.end, lifetime_end(requests[i]));
    chain.members.push_back(i);
  }
  std::ranges::stable_sort(chains, std::ranges::greater{}, &Chain::bytes);

  std::vector<Group> groups;
  std::vector<std::map<StepIndex, StepIndex>> alive;  // of each group: birth to lifetime_end
  std::vector<std::uint32_t> group_of(requests.size(), kNoGroup);
  for (const Chain& chain : chains) {
    // Groups are in order of size, since their first members were.
    const auto is_free = [&](const auto& of_group) { return !meets(of_group, chain.first, chain.end); };
    const auto first = std::ranges::find_if(alive, is_free);
    auto chosen = static_cast<std::size_t>(first - alive.begin());
    if (first == alive.end()) {
      groups.emplace_back();
      alive.emplace_back();
    } else if (choice == Choice::best_fit) {
      chosen = alive.size() - 1;
      while (!is_free(alive[chosen])) --chosen;
    }
    alive[chosen].emplace(chain.first, chain.end);
    for (const std::uint32_t i : chain.members) {
      group_of[i] = static_cast<std::uint32_t>(chosen);
      groups[chosen].add(requests[i], i);
    }
  }
  return lay_out(groups, group_of);
}

}  // namespace storage_groups

SR_INLINE Layout StandardResizing::plan(std::span<const Request> requests) {
  using namespace storage_groups;
  const std::vector<std::uint32_t> none(requests.size(), kNoRequest);
  const std::vector<std::uint32_t> inputs = dying_inputs(requests);
  const std::vector<std::uint32_t> births = birth_order(requests);
  std::vector<std::uint32_t> deaths(requests.size());
  std::iota(deaths.begin(), deaths.end(), 0U);
  std::ranges::stable_sort(deaths, {}, [&](std::uint32_t i) { return lifetime_end(requests[i]); });

  Layout best{{}, std::numeric_limits<Bytes>::max()};
  const auto keep = [&](Layout layout) {
    if (layout.total < best.total) best = std::move(layout);
  };
  for (const auto* taken_over : {&inputs, &none}) {
    keep(group(requests, births, deaths, *taken_over, Choice::best_fit));
    keep(group(requests, births, deaths, *taken_over, Choice::freed_last));
    if (requests.size() > kFew) continue;
    keep(group_largest_first(requests, births, *taken_over, Choice::best_fit));
    keep(group_largest_first(requests, births, *taken_over, Choice::largest));
  }
  return best;
}

}  // namespace sr::memory
