// Compares a Batcher with a pool: the time of a call that is alone in its batch, and the highest rate of
// requests whose 99th percentile of latency is within a bound. Requests arrive as a Poisson process. Latency
// counts from the time at which a request was meant to arrive.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>

#include <sr/base/processors.hpp>
#include <sr/sr.hpp>

#include "../models/stream_models.hpp"
#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"
#include "timing/arrivals.hpp"
#include "timing/statistics.hpp"

namespace sr::bench {
namespace {

struct BatchingOptions {
  int rounds = 31;
  double slice_ms = 5;
  double seconds = 1;    // of each load
  double p99_us = 1000;  // the bound
  std::string model;
  bool verbose = false;
};

using Requests = std::vector<std::vector<c10::IValue>>;

constexpr std::int64_t kRequests = 64;  // that differ

// In separate memory, as the requests of different clients are.
Requests requests_of(const SizedModel& model) {
  Requests requests;
  for (std::int64_t i = 0; i < kRequests; ++i) {
    std::vector<c10::IValue> request;
    for (const c10::IValue& value : model.inputs(1)) request.push_back(value.deepcopy());
    requests.push_back(std::move(request));
  }
  return requests;
}

void wait_until(Clock::time_point due) {
  while (Clock::now() < due) {
  }
}

float microseconds_since(Clock::time_point due) {
  return std::chrono::duration<float, std::micro>(Clock::now() - due).count();
}

// Latencies in microseconds, by arrival.
using Serve = std::function<std::vector<float>(const std::vector<std::chrono::nanoseconds>& arrivals)>;

// Callers take the next arrival, wait for it, and answer it.
Serve one_by_one(std::function<void(std::vector<c10::IValue>)> call, const Requests& requests, int callers) {
  return [=, &requests](const std::vector<std::chrono::nanoseconds>& arrivals) {
    std::vector<float> latencies(arrivals.size());
    std::atomic<std::size_t> next = 0;
    const auto start = Clock::now() + std::chrono::milliseconds(5);
    std::vector<std::jthread> threads;
    for (int caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&] {
        at::set_num_threads(1);
        for (std::size_t i = next++; i < arrivals.size(); i = next++) {
          wait_until(start + arrivals[i]);
          call(requests[i % requests.size()]);
          latencies[i] = microseconds_since(start + arrivals[i]);
        }
      });
    }
    threads.clear();
    return latencies;
  };
}

// One thread submits every request when it arrives.
Serve submitted(const Batcher& batcher, const Requests& requests) {
  return [&](const std::vector<std::chrono::nanoseconds>& arrivals) {
    std::vector<float> latencies(arrivals.size());
    std::latch left(static_cast<std::ptrdiff_t>(arrivals.size()));
    const auto start = Clock::now() + std::chrono::milliseconds(5);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      const Clock::time_point due = start + arrivals[i];
      wait_until(due);
      batcher.submit(requests[i % requests.size()])->addCallback([&, i, due](c10::ivalue::Future& future) {
        latencies[i] = future.hasError() ? 1e12F : microseconds_since(due);
        left.count_down();
      });
    }
    left.wait();
    return latencies;
  };
}

double p99(const std::vector<float>& latencies) {
  return tool::percentiles(latencies).p99;
}

struct Borne {
  double rate = 0, p99 = 0;  // requests a second, microseconds
};

// The highest rate of those tried, each 10 % above the last, whose 99th percentile is within the bound.
Borne most_borne(const Serve& serve, const BatchingOptions& options) {
  Borne best;
  int failures = 0;
  for (double rate = 20'000; failures < 3 && rate < 1e7; rate *= 1.1) {
    const auto count = static_cast<std::size_t>(std::max(1000.0, rate * options.seconds));
    const auto arrivals = tool::arrival_times({.rate = rate, .poisson = true, .seed = 1}, count);
    const double took = p99(serve(arrivals));
    if (options.verbose) std::cerr << number(rate, 0) << " requests/s: p99 " << number(took, 0) << " us\n";
    if (took <= options.p99_us) {
      best = {rate, took};
      failures = 0;
    } else {
      ++failures;
    }
  }
  return best;
}

void time_overhead(const StaticModule& module, const SizedModel& model, const BatchingOptions& options) {
  const RuntimePool<> pool(module);
  const Batcher batcher(module);
  const std::vector<c10::IValue> request = model.inputs(1);
  const auto many = [&](const auto& call) {
    return [&](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) call(request);
    };
  };
  const std::vector<Many> rivals{many(pool), many(batcher)};
  const auto times = time_in_rounds(rivals, options.rounds, options.slice_ms * 1e-3);
  print_table(std::cout, {{model.name + ", one row, ns", "pool", "batcher"},
                          {"", number(median_of(times[0]), 0), number(median_of(times[1]), 0)}});
}

void compare_loads(const StaticModule& module, const SizedModel& model, const BatchingOptions& options) {
  const int processors = processors_allowed();
  const Requests requests = requests_of(model);
  const RuntimePool<> pool(module);
  BatcherOptions joined;
  joined.max_waiting = 1 << 20;
  joined.max_rows = 64;
  joined.max_running = static_cast<std::size_t>(std::max(processors - 1, 1));
  BatcherOptions single = joined;
  single.max_rows = 1;
  const Batcher batcher(module, joined), unbatched(module, single);
  std::vector<Row> table{
      {model.name + ", p99 <= " + number(options.p99_us, 0) + " us", "requests/s", "p99, us"}};
  const auto add = [&](const std::string& name, const Serve& serve) {
    serve(tool::arrival_times({.rate = 20'000, .poisson = true, .seed = 2}, 2000));  // records the plans
    const Borne borne = most_borne(serve, options);
    table.push_back({name, number(borne.rate, 0), number(borne.p99, 0)});
  };
  add("pool, " + std::to_string(processors) + " callers",
      one_by_one([&](std::vector<c10::IValue> args) { pool(std::move(args)); }, requests, processors));
  add("batcher, submitted, one row a batch", submitted(unbatched, requests));
  add("batcher, submitted", submitted(batcher, requests));
  print_table(std::cout, table);
  const BatcherReport report = batcher.report();
  std::cout << "rows a batch: "
            << number(static_cast<double>(report.rows) / static_cast<double>(report.batches), 1) << '\n';
}

void run(const BatchingOptions& options) {
  at::set_num_threads(1);
  for (const SizedModel& model : {sized_deep_and_wide(), sized_perceptron(), sized_large_dlrm()}) {
    if (model.name.find(options.model) == std::string::npos) continue;
    const StaticModule module(model.module);
    time_overhead(module, model, options);
    compare_loads(module, model, options);
  }
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  using namespace sr::bench;
  CLI::App app("A Batcher against a pool", "bench_batching");
  BatchingOptions options;
  add_timing(app, options, "each of both");
  app.add_option("--seconds", options.seconds, "Of each load")->check(CLI::Range(0.1, 100.0));
  app.add_option("--p99-us", options.p99_us, "The bound on the 99th percentile")->check(CLI::Range(1.0, 1e6));
  app.add_flag("--verbose", options.verbose, "Print each load that is tried");
  app.add_option("--model", options.model, "Only models whose name contains this");
  return run_program(app, argc, argv, [&] { run(options); });
}
