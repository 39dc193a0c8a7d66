// Times rivals in turn, so that other load on the machine affects them all, and compares them round by round.
// src/tool/timing times single calls, which gives the 99th percentile but costs two clock readings a call.
// Here calls of 20 ns must be distinguished, so the clock is read once for thousands of calls.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "timing/statistics.hpp"

namespace sr::bench {

using Clock = std::chrono::steady_clock;
using Many = std::function<void(std::int64_t)>;  // runs that many calls

inline double nanoseconds_of(const Many& many, std::int64_t times) {
  const auto start = Clock::now();
  many(times);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// The number of calls that take about `seconds`. Also warms up.
inline std::int64_t calls_in(const Many& many, double seconds) {
  std::int64_t calls = 1;
  many(8);
  for (;;) {
    const double taken = nanoseconds_of(many, calls) * 1e-9;
    if (taken >= seconds / 4 || calls >= 1 << 24) {
      const double wanted = static_cast<double>(calls) * seconds / std::max(taken, 1e-9);
      return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
    }
    calls *= 2;
  }
}

// Nanoseconds a call: result[rival][round]. Each round begins with another rival, since each finds the caches
// as its predecessor left them.
inline std::vector<std::vector<double>> time_in_rounds(std::span<const Many> rivals, int rounds,
                                                       double slice_seconds) {
  std::vector<std::int64_t> calls;
  for (const Many& rival : rivals) calls.push_back(calls_in(rival, slice_seconds));
  std::vector<std::vector<double>> times(rivals.size(), std::vector<double>(rounds));
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      const std::size_t rival = (i + static_cast<std::size_t>(round)) % rivals.size();
      rivals[rival](std::max<std::int64_t>(1, calls[rival] / 16));
      times[rival][round] = nanoseconds_of(rivals[rival], calls[rival]) / static_cast<double>(calls[rival]);
    }
  }
  return times;
}

inline double median_of(const std::vector<double>& times) {
  return tool::median(times);
}

// The median of the ratios of each round: a slow round is slow for both.
inline double median_ratio(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> ratios(above.size());
  std::ranges::transform(above, below, ratios.begin(), std::divides<>());
  return tool::median(ratios);
}

}  // namespace sr::bench
