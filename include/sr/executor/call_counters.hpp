// Counts and times the calls of a runtime, at a cost that is a small part of the shortest call.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>

#include <sr/base/call_metrics.hpp>
#include <sr/base/error.hpp>
#include <sr/executor/misses.hpp>

namespace sr::detail {

// The thread that calls the runtime writes; any thread may read. Readers share the ownership, so the figures
// may outlive the runtime.
//
// Two readings of a clock take as long as a tenth of the shortest calls. So a call is timed only when a
// counter ends, and the counter then begins with a number for which that costs about one percent of the time.
// The number is drawn, so that calls of two kinds in turn are timed alike. A timed call stands for all those
// since the last one that did not throw.
class CallCounters {
 public:
  // A call begins. Returns whether it is to be timed: then time() has to make it. Two threads that call a
  // runtime at once, which is an error, may miss the end of the counter: then the next call is timed.
  [[gnu::always_inline]] bool begin_call() {
    const std::uint32_t left = left_.load(std::memory_order_relaxed) - 1;
    left_.store(left, std::memory_order_relaxed);
    return left - 1 >= kLongest;
  }

  // Returns what `call` returns. Throws what it throws.
  template <class Call>
  [[gnu::noinline, gnu::cold]] auto time(const Call& call) {
    using Clock = std::chrono::steady_clock;
    struct Interval {
      CallCounters& metrics;
      Clock::time_point begin = Clock::now();
      int exceptions = std::uncaught_exceptions();
      ~Interval() {
        const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
        metrics.end_interval(static_cast<std::uint64_t>(time.count()),
                             std::uncaught_exceptions() == exceptions);
      }
    };
    const Interval interval{*this};
    return call();
  }

  // Returns what `part` of a call returns. Notes an exception, which ends the call.
  template <class Part>
  auto noted(const Part& part) {
    try {
      return part();
    } catch (...) {
      note_failure();
      throw;
    }
  }
  // Must be called while the exception is handled that ends the call.
  [[gnu::noinline, gnu::cold]] void note_failure() {
    add(failed_);
    try {
      throw;
    } catch (const CancelledError&) {
      add(cancelled_);
    } catch (...) {
      return;  // of another kind
    }
  }
  // A call was not answered by a plan.
  void note_unplanned() { add(unplanned_); }
  Misses& misses() { return misses_; }

  CallMetrics metrics() const {
    CallMetrics figures;
    for (std::size_t i = 0; i < Latencies::kBuckets; ++i)
      figures.latencies.counts[i] = counts_[i].load(std::memory_order_relaxed);
    figures.latencies.seconds = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
    figures.calls = ended_.load(std::memory_order_relaxed) + interval_.load(std::memory_order_relaxed) -
                    left_.load(std::memory_order_relaxed);
    figures.failed = failed_.load(std::memory_order_relaxed);
    figures.cancelled = cancelled_.load(std::memory_order_relaxed);
    const std::uint64_t unplanned = unplanned_.load(std::memory_order_relaxed);
    figures.replayed = figures.calls - std::min(figures.calls, unplanned);
    figures.misses = misses_.report();
    return figures;
  }

  // Nanoseconds that timing a call takes: 40 where the clock is a register of the processor, hundreds in some
  // virtual machines. A program that is run by a simulator, where times mean nothing, may set it.
  static std::atomic<std::uint64_t>& cost_of_timing() {
    static std::atomic<std::uint64_t> cost = [] {
      using Clock = std::chrono::steady_clock;
      auto least = Clock::duration::max();
      for (int i = 0; i < 16; ++i) {
        const Clock::time_point begin = Clock::now();
        least = std::min(least, Clock::now() - begin);
      }
      return static_cast<std::uint64_t>(2 *
                                        std::chrono::duration_cast<std::chrono::nanoseconds>(least).count());
    }();
    return cost;
  }

 private:
  using Count = std::atomic<std::uint64_t>;
  static constexpr std::uint32_t kLongest = 64;  // calls from one timed call to the next

  // One thread at a time, so it need not be one instruction.
  static void add(Count& count, std::uint64_t more = 1) {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  void end_interval(std::uint64_t nanoseconds, bool has_result) {
    const std::uint64_t interval = interval_.load(std::memory_order_relaxed);
    const std::uint64_t failed = failed_.load(std::memory_order_relaxed);
    if (has_result) {
      const std::uint64_t results = interval - std::min(interval, failed - failed_before_);
      add(counts_[Latencies::bucket_of(nanoseconds)], results);
      add(nanoseconds_, results * nanoseconds);
    }
    failed_before_ = failed;
    add(ended_, interval);
    const std::uint32_t calls = draw(100 * cost_of_timing().load(std::memory_order_relaxed) /
                                     std::max<std::uint64_t>(nanoseconds, 1));
    interval_.store(calls, std::memory_order_relaxed);
    left_.store(calls, std::memory_order_relaxed);
  }

  // 1 for a mean of 0; else half the mean to one and a half of it. George Marsaglia, Xorshift RNGs, 2003.
  std::uint32_t draw(std::uint64_t mean) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(mean, kLongest * 2 / 3 - 1));
    return 1 + most / 2 + random_ % (most + 1);
  }

  std::atomic<std::uint32_t> left_{1};      // calls to the next one that is timed
  std::atomic<std::uint32_t> interval_{1};  // from the last one that was timed to the next
  Count ended_{0};                          // calls of the intervals before
  Count failed_{0}, cancelled_{0}, unplanned_{0};
  Count nanoseconds_{0};
  std::uint64_t failed_before_ = 0;       // when the interval began
  std::uint32_t random_ = 2'463'534'242;  // of the paper
  std::array<Count, Latencies::kBuckets> counts_{};
  Misses misses_;
};

}  // namespace sr::detail
