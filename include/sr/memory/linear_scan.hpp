// Linear scan in the manner of register allocation (Poletto and Sarkar, TOPLAS 1999; upstream PR 64348 tried
// it on tensors), over a slab with a free list.
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

#include <sr/memory/greedy_by_size.hpp>
#include <sr/memory/interval.hpp>
#include <sr/memory/lower_bound.hpp>
#include <sr/memory/planner.hpp>
#include <sr/memory/reordering.hpp>
#include <sr/memory/slab.hpp>

namespace sr::memory {

// Walks the requests by birth over a slab that starts as large as the lower bound. A plan read backwards in
// time is a plan too, and which direction packs better depends on whether the net narrows or widens: both are
// tried until one meets the bound. A scan can not see the large request that is yet to come; where that costs
// something and looking is cheap, the largest are placed first instead.
struct LinearScan {
  static constexpr std::string_view name = "linear_scan";

  static Layout plan(std::span<const Request> requests) {
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

  static Layout refine(std::span<const Request> requests, Layout layout) {
    return Reordering::improve(requests, std::move(layout));
  }

 private:
  static constexpr std::size_t kFew = 2000;  // below both, largest first takes about half a millisecond
  static constexpr double kFewPairs = 40'000;

  template <class Key>
  static std::vector<std::uint32_t> sorted_by(std::size_t count, const Key& key) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::tuple_cat(key(i), std::tuple{i}); });
    return order;
  }

  // Replaces `best` if this scan needs less; gives up as soon as it does not.
  static void scan(const std::vector<Interval>& intervals, bool larger_first, Bytes bound, Layout& best) {
    const std::size_t count = intervals.size();
    const auto births = sorted_by(count, [&](std::uint32_t i) {
      return std::tuple{intervals[i].first, larger_first ? ~intervals[i].bytes : 0};
    });
    const auto deaths = sorted_by(count, [&](std::uint32_t i) {
      return std::tuple{intervals[i].last, intervals[i].first};
    });
    Slab slab(bound, 2 * count + 1);
    std::vector<Slab::Index> blocks(count, Slab::kNone);
    std::vector<std::uint32_t> heirs(count, kNoRequest);
    Layout layout{std::vector<Bytes>(count), 0};
    auto dying = deaths.begin();
    for (const std::uint32_t i : births) {
      const Interval& interval = intervals[i];
      for (; dying != deaths.end() && intervals[*dying].last <= interval.first; ++dying) {
        if (blocks[*dying] == Slab::kNone) continue;
        if (heirs[*dying] == kNoRequest) {
          slab.release(blocks[*dying]);
        } else {
          blocks[heirs[*dying]] = blocks[*dying];
          slab.shrink(blocks[*dying], intervals[heirs[*dying]].bytes);
        }
      }
      if (interval.bytes == 0) continue;
      if (const std::uint32_t from = interval.from; from != kNoRequest && blocks[from] != Slab::kNone &&
                                                    interval.bytes <= intervals[from].bytes &&
                                                    layout.offsets[from] % interval.alignment == 0) {
        heirs[from] = i;
        slab.set_death(blocks[from], interval.last);
        layout.offsets[i] = layout.offsets[from];
        continue;
      }
      blocks[i] = slab.take(interval.bytes, interval.alignment, interval.last);
      layout.offsets[i] = slab.offset(blocks[i]);
      layout.total = std::max(layout.total, layout.offsets[i] + interval.bytes);
      if (layout.total >= best.total) return;
    }
    best = std::move(layout);
  }
};
static_assert(Planner<LinearScan>);

}  // namespace sr::memory
