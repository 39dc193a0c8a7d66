// Definitions of <sr/memory/linear_scan.hpp>.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <sr/base/build.hpp>
#include <sr/memory/free_list.hpp>
#include <sr/memory/greedy_by_size.hpp>
#include <sr/memory/interval.hpp>
#include <sr/memory/linear_scan.hpp>
#include <sr/memory/lower_bound.hpp>
#include <sr/memory/reordering.hpp>

namespace sr::memory {

namespace linear_scan {

inline constexpr std::size_t kFew = 2000;  // below both, largest first takes about half a millisecond
inline constexpr double kFewPairs = 40'000;

template <class Key>
std::vector<std::uint32_t> sorted_by(std::size_t count, const Key& key) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::tuple_cat(key(i), std::tuple{i}); });
  return order;
}

// Replaces `best` if this scan needs less memory; stops as soon as it cannot.
inline void scan(const std::vector<Interval>& intervals, bool larger_first, Bytes bound, Layout& best) {
  const std::size_t count = intervals.size();
  const auto births = sorted_by(count, [&](std::uint32_t i) {
    return std::tuple{intervals[i].first, larger_first ? ~intervals[i].bytes : 0};
  });
  const auto deaths = sorted_by(count, [&](std::uint32_t i) {
    return std::tuple{intervals[i].end, intervals[i].first};
  });
  FreeList buffer(bound, 2 * count + 1);
  std::vector<FreeList::Index> blocks(count, FreeList::kNone);
  std::vector<std::uint32_t> reused_by(count, kNoRequest);
  Layout layout{std::vector<Bytes>(count), 0};
  auto dying = deaths.begin();
  for (const std::uint32_t i : births) {
    const Interval& interval = intervals[i];
    for (; dying != deaths.end() && intervals[*dying].end <= interval.first; ++dying) {
      if (blocks[*dying] == FreeList::kNone) continue;
      if (reused_by[*dying] == kNoRequest) {
        buffer.release(blocks[*dying]);
      } else {
        blocks[reused_by[*dying]] = blocks[*dying];
        buffer.shrink(blocks[*dying], intervals[reused_by[*dying]].bytes);
      }
    }
    if (interval.bytes == 0) continue;
    if (const std::uint32_t from = interval.from; from != kNoRequest && blocks[from] != FreeList::kNone &&
                                                  interval.bytes <= intervals[from].bytes &&
                                                  layout.offsets[from] % interval.alignment == 0) {
      reused_by[from] = i;
      buffer.set_lifetime_end(blocks[from], interval.end);
      layout.offsets[i] = layout.offsets[from];
      continue;
    }
    blocks[i] = buffer.take(interval.bytes, interval.alignment, interval.end);
    layout.offsets[i] = buffer.offset(blocks[i]);
    layout.total = std::max(layout.total, layout.offsets[i] + interval.bytes);
    if (layout.total >= best.total) return;
  }
  best = std::move(layout);
}

}  // namespace linear_scan

SR_INLINE Layout LinearScan::plan(std::span<const Request> requests) {
  using namespace linear_scan;
  const Bytes bound = lower_bound(requests);
  std::vector<Interval> intervals = to_intervals(requests);
  Layout best{{}, std::numeric_limits<Bytes>::max()};
  scan(intervals, true, bound, best);
  if (best.total > bound) {
    reverse_time(intervals);
    scan(intervals, false, bound, best);
    if (best.total > bound) scan(intervals, true, bound, best);
  }
  const bool few = requests.size() <= kFew && pairs_alive(intervals) <= kFewPairs;
  if (few && is_worth_improving(best.total, bound)) {
    Layout largest_first = GreedyBySize::plan(requests);
    if (largest_first.total < best.total) best = std::move(largest_first);
  }
  return best;
}

SR_INLINE Layout LinearScan::refine(std::span<const Request> requests, Layout layout) {
  return Reordering::improve(requests, std::move(layout));
}

}  // namespace sr::memory
