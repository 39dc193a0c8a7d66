#include "timing.hpp"

#include <algorithm>
#include <exception>
#include <latch>
#include <thread>
#include <utility>

#include <ATen/Parallel.h>

#include "statistics.hpp"

namespace sr::tool {
namespace {

struct CallerResult {
  std::vector<float> samples;
  double calls = 0, seconds = 0;
  std::exception_ptr failure;
};

// Times calls as a whole for the throughput, and then calls one by one. The time of a call begins when its
// vector of arguments exists and ends when its result is dropped; the throughput includes making the vectors.
void run_slice(Runner& runner, const std::vector<ArgumentList>& sets, const Slice& slice,
               double seconds_per_call, CallerResult& result) {
  std::size_t next = 0;
  const auto turn = [&] { return std::exchange(next, (next + 1) % sets.size()); };
  const double half = slice.seconds / 2;
  const auto batch =
      static_cast<std::int64_t>(std::clamp(20e-6 / std::max(seconds_per_call, 1e-9), 1.0, 1000.0));
  const auto begin = Clock::now();
  std::int64_t calls = 0;
  do {
    const std::int64_t now = slice.calls > 0 ? slice.calls : batch;
    for (std::int64_t i = 0; i < now; ++i) {
      const std::size_t set = turn();
      runner.run(ArgumentList(sets[set]), set);
    }
    calls += now;
  } while (slice.calls == 0 && seconds_since(begin) < half);
  result.calls = static_cast<double>(calls);
  result.seconds = seconds_since(begin);

  const auto sampling = Clock::now();
  do {
    const std::size_t set = turn();
    ArgumentList args = sets[set];
    const auto start = Clock::now();
    runner.run(std::move(args), set);
    const auto end = Clock::now();
    result.samples.push_back(std::chrono::duration<float, std::nano>(end - start).count());
    if (slice.calls == 0 && std::chrono::duration<double>(end - sampling).count() >= half) break;
  } while (result.samples.size() < slice.most_samples);
}

// The first caller has the given sets to itself.
void give_arguments(Entry& entry, const std::vector<ArgumentList>& sets) {
  while (entry.arguments.size() < entry.callers.size())
    entry.arguments.push_back(entry.arguments.empty() ? sets : own_copies(sets));
}

}  // namespace

void warm_up(Entry& entry, const std::vector<ArgumentList>& sets, std::int64_t calls, double most_seconds) {
  const auto least = static_cast<std::int64_t>(3 * sets.size());
  give_arguments(entry, sets);
  for (std::size_t c = 0; c < entry.callers.size(); ++c) {
    const auto begin = Clock::now();
    double fastest = 1e9;
    for (std::int64_t i = 0; i < std::max(calls, least); ++i) {
      const std::size_t set = static_cast<std::size_t>(i) % sets.size();
      const auto start = Clock::now();
      entry.callers[c]->run(ArgumentList(entry.arguments[c][set]), set);
      fastest = std::min(fastest, seconds_since(start));
      if (i >= least && seconds_since(begin) > most_seconds) break;
    }
    entry.seconds_per_call = fastest;
  }
}

void time_slice(Entry& entry, const std::vector<ArgumentList>& sets, const Slice& slice, int threads) {
  std::vector<CallerResult> results(entry.callers.size());
  give_arguments(entry, sets);
  for (CallerResult& result : results)
    result.samples.reserve(std::min<std::size_t>(slice.most_samples, 1 << 16));
  if (entry.callers.size() == 1) {
    run_slice(*entry.callers[0], sets, slice, entry.seconds_per_call, results[0]);
  } else {
    std::latch ready(static_cast<std::ptrdiff_t>(entry.callers.size()));
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < entry.callers.size(); ++i) {
      workers.emplace_back([&, i] {
        at::set_num_threads(threads);  // a property of the calling thread
        ready.arrive_and_wait();
        try {
          run_slice(*entry.callers[i], entry.arguments[i], slice, entry.seconds_per_call, results[i]);
        } catch (...) {
          results[i].failure = std::current_exception();
        }
      });
    }
    workers.clear();
  }
  std::vector<float> round;
  double rate = 0;
  for (CallerResult& result : results) {
    if (result.failure) std::rethrow_exception(result.failure);
    round.insert(round.end(), result.samples.begin(), result.samples.end());
    rate += result.calls / result.seconds;
  }
  entry.throughput_calls += rate * results[0].seconds;
  entry.throughput_seconds += results[0].seconds;
  entry.round_medians.push_back(median(round));
  entry.samples.insert(entry.samples.end(), round.begin(), round.end());
}

}  // namespace sr::tool
