// Measures how often several threads complete a task at the same time.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <latch>
#include <sched.h>
#include <span>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>

#include "../rounds.hpp"

namespace sr::bench {

struct Rate {
  double calls_per_second = 0;  // of all callers together
  // CPU time of the calling threads. It does not include the time that a thread waits for a core.
  double cpu_ns_per_call = 0;
};

inline double cpu_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Pins the calling thread to its own processor if there are enough: threads that live for milliseconds
// were seen to share one of two.
inline void settle(std::size_t caller) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    return set;
  }();
  const int count = CPU_COUNT(&allowed);
  if (count == 0) return;
  auto left = static_cast<int>(caller % static_cast<std::size_t>(count));
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed) || left-- > 0) ++cpu;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof(own), &own);
}

// Each caller runs on its own thread for `seconds`.
inline Rate rate_of(std::span<const Many> callers, std::int64_t batch, double seconds) {
  std::latch ready(static_cast<std::ptrdiff_t>(callers.size()));
  std::vector<Rate> rates(callers.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < callers.size(); ++i) {
      threads.emplace_back([&, i] {
        settle(i);
        at::set_num_threads(1);  // applies to the calling thread
        callers[i](batch);
        ready.arrive_and_wait();
        const auto start = Clock::now();
        const double cpu = cpu_nanoseconds();
        double calls = 0, taken = 0;
        do {
          callers[i](batch);
          calls += static_cast<double>(batch);
          taken = std::chrono::duration<double>(Clock::now() - start).count();
        } while (taken < seconds);
        rates[i] = {calls / taken, (cpu_nanoseconds() - cpu) / calls};
      });
    }
  }
  Rate all;
  for (const Rate& rate : rates) {
    all.calls_per_second += rate.calls_per_second;
    all.cpu_ns_per_call += rate.cpu_ns_per_call / static_cast<double>(rates.size());
  }
  return all;
}

}  // namespace sr::bench
