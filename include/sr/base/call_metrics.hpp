// What the calls of a runtime, or of all runtimes of a pool, have done so far.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sr {

// Numbers of calls by latency. The buckets are four to an octave, from 64 nanoseconds to 137 seconds, so a
// quantile is known within a fifth.
struct Latencies {
  static constexpr std::size_t kBuckets = 1 + 4 * 31;

  std::array<std::uint64_t, kBuckets> counts{};
  double seconds = 0;  // the sum

  static constexpr std::size_t bucket_of(std::uint64_t nanoseconds) {
    if (nanoseconds < kLeast) return 0;
    const auto octave = static_cast<unsigned>(std::bit_width(nanoseconds)) - 1;
    const std::size_t quarter = (nanoseconds >> (octave - 2)) & 3;
    return std::min<std::size_t>(1 + 4 * (octave - kFirstOctave) + quarter, kBuckets - 1);
  }
  // The latency below which all calls of the bucket and of those before lie, in seconds. The last bucket has
  // none.
  static double end_of(std::size_t bucket) {
    const auto quarters = static_cast<double>(bucket % 4);
    return std::ldexp(4 + quarters, static_cast<int>(bucket / 4)) * kLeast / 4 * 1e-9;
  }

  std::uint64_t count() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }
  // The calls below end_of(bucket).
  std::uint64_t count_to(std::size_t bucket) const {
    return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(bucket) + 1,
                           std::uint64_t{0});
  }
  // The end of the bucket below which that part of the calls lies, in seconds; 0 without calls.
  double quantile(double part) const {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const auto wanted = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::ceil(std::clamp(part, 0.0, 1.0) * static_cast<double>(all))));
    std::size_t bucket = 0;
    for (std::uint64_t below = counts[0]; below < wanted; below += counts[bucket]) ++bucket;
    return end_of(bucket);
  }

  Latencies& operator+=(const Latencies& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts[i] += other.counts[i];
    seconds += other.seconds;
    return *this;
  }

 private:
  static constexpr std::uint64_t kFirstOctave = 6, kLeast = 1 << kFirstOctave;  // nanoseconds
};

// Bound calls are not counted.
struct CallMetrics {
  std::uint64_t calls = 0;      // that have begun
  std::uint64_t replayed = 0;   // of them, answered by a plan
  std::uint64_t failed = 0;     // of them, ended by an exception
  std::uint64_t cancelled = 0;  // of those that failed: CancelledError
  // Latencies of calls that returned a result. Only some short calls are timed; each stands for those around
  // it.
  Latencies latencies;
  // Why calls were not replayed, and how many each, as Report::misses.
  std::vector<std::pair<std::string, std::uint64_t>> misses;

  CallMetrics& operator+=(const CallMetrics& other) {
    calls += other.calls;
    replayed += other.replayed;
    failed += other.failed;
    cancelled += other.cancelled;
    latencies += other.latencies;
    for (const auto& miss : other.misses) {
      const auto known = std::find_if(misses.begin(), misses.end(),
                                      [&](const auto& mine) { return mine.first == miss.first; });
      if (known == misses.end()) {
        misses.push_back(miss);
      } else {
        known->second += miss.second;
      }
    }
    return *this;
  }
};

}  // namespace sr
