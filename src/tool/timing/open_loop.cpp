#include "open_loop.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <latch>
#include <limits>
#include <thread>
#include <utility>

#include <ATen/Parallel.h>

#include "clock.hpp"

namespace sr::tool {
namespace {

// Sleeping threads wake too late by about as much as this: the rest is waited for awake, and the processor
// left to those who have calls to answer.
constexpr std::chrono::microseconds kAwake{100};

void wait_until(Clock::time_point due) {
  if (due - Clock::now() > 2 * kAwake) std::this_thread::sleep_until(due - kAwake);
  while (Clock::now() < due) std::this_thread::yield();
}

class OpenLoop {
 public:
  OpenLoop(const std::vector<ArgumentList>& sets, const std::vector<std::chrono::nanoseconds>& arrivals)
      : sets_(sets),
        arrivals_(arrivals),
        given_up_after_(2 * horizon_of(arrivals) + std::chrono::seconds(1)) {
    answered_.latencies.assign(arrivals.size(), std::numeric_limits<float>::quiet_NaN());
  }

  Answered run(const std::vector<std::unique_ptr<Runner>>& callers, int threads) {
    std::latch ready(static_cast<std::ptrdiff_t>(callers.size())), go(1);
    std::vector<std::exception_ptr> failures(callers.size());
    std::vector<std::chrono::nanoseconds> last(callers.size());
    // Reference counts of shared tensors would move between the callers' caches.
    std::vector<std::vector<ArgumentList>> sets;
    for (std::size_t i = 0; i < callers.size(); ++i) sets.push_back(own_copies(sets_));
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 0; i < callers.size(); ++i) {
        workers.emplace_back([&, i] {
          try {
            prepare(*callers[i], sets[i], threads, ready);
            go.wait();
            last[i] = serve(*callers[i], sets[i]);
          } catch (...) {
            failures[i] = std::current_exception();
            ended_ = true;
          }
        });
      }
      ready.wait();
      start_ = Clock::now() + std::chrono::milliseconds(1);
      go.count_down();
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
    return figures(*std::ranges::max_element(last));
  }

 private:
  // If the first call throws, the other callers must not wait for it.
  class Arrived {
   public:
    explicit Arrived(std::latch& ready) : ready_(ready) {}
    Arrived(const Arrived&) = delete;
    Arrived& operator=(const Arrived&) = delete;
    ~Arrived() { ready_.count_down(); }

   private:
    std::latch& ready_;
  };

  static void prepare(Runner& runner, const std::vector<ArgumentList>& sets, int threads, std::latch& ready) {
    const Arrived arrived(ready);
    at::set_num_threads(threads);          // a property of the calling thread
    runner.run(ArgumentList(sets[0]), 0);  // starts the threads that OpenMP gives this one
  }

  // Returns when the last call began, after the start.
  std::chrono::nanoseconds serve(Runner& runner, const std::vector<ArgumentList>& sets) {
    std::chrono::nanoseconds last{0};
    while (!ended_) {
      const std::size_t arrival = next_.fetch_add(1);
      if (arrival >= arrivals_.size()) break;
      const std::size_t set = arrival % sets.size();
      ArgumentList args = sets[set];
      const Clock::time_point due = start_ + arrivals_[arrival];
      wait_until(due);
      const auto begun = Clock::now() - start_;
      if (begun > given_up_after_) break;
      runner.run(std::move(args), set);
      answered_.latencies[arrival] = std::chrono::duration<float, std::nano>(Clock::now() - due).count();
      last = begun;
    }
    return last;
  }

  Answered figures(std::chrono::nanoseconds last) {
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      float& latency = answered_.latencies[i];
      if (!std::isnan(latency)) continue;
      ++answered_.not_begun;
      latency = std::chrono::duration<float, std::nano>(given_up_after_ - arrivals_[i]).count();
    }
    const auto count = static_cast<double>(arrivals_.size());
    const std::chrono::duration<double> horizon = horizon_of(arrivals_);
    answered_.offered_per_s = count / horizon.count();
    answered_.achieved_per_s = (count - static_cast<double>(answered_.not_begun)) /
                               std::max(horizon, std::chrono::duration<double>(last)).count();
    return std::move(answered_);
  }

  const std::vector<ArgumentList>& sets_;
  const std::vector<std::chrono::nanoseconds>& arrivals_;
  const std::chrono::nanoseconds given_up_after_;
  Clock::time_point start_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> ended_{false};
  Answered answered_;  // each latency is written by the one caller that took the arrival
};

}  // namespace

Answered answer(const std::vector<std::unique_ptr<Runner>>& callers, const std::vector<ArgumentList>& sets,
                const std::vector<std::chrono::nanoseconds>& arrivals, int threads) {
  return OpenLoop(sets, arrivals).run(callers, threads);
}

}  // namespace sr::tool
