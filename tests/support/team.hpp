// What the tests of teams share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sr/base/team.hpp>

namespace sr::test {

// Runs a job of `count` parts and returns how often each part was run.
inline std::vector<int> counts_of(std::int64_t count, int width, bool more_follows = false) {
  std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
  Team::of_process().each(count, width, more_follows, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) ++done[static_cast<std::size_t>(i)];
  });
  return {done.begin(), done.end()};
}

inline bool are_done_once(const std::vector<int>& counts) {
  return std::ranges::all_of(counts, [](int count) { return count == 1; });
}

}  // namespace sr::test
