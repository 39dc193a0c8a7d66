// What runtimes and pools count of their calls.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include <sr/executor/call_counters.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"

namespace sr::test::call_metrics_tests {

torch::jit::Module doubled() {
  return script("def forward(self, x):\n    return torch.relu(x * 2 + 1)\n");
}

std::uint64_t sum_of(const CallMetrics& figures) {
  std::uint64_t sum = 0;
  for (const auto& [why, count] : figures.misses) sum += count;
  return sum;
}

template <class Call>
void measure(detail::CallCounters& metrics, const Call& call) {
  if (metrics.begin_call()) return metrics.time(call);
  call();
}

TEST_CASE("latencies are counted in buckets that hold them", "[executor][metrics]") {
  for (std::uint64_t time = 1; time < 1'000'000'000'000; time += 1 + time / 7) {
    CAPTURE(time);
    const std::size_t bucket = Latencies::bucket_of(time);
    const double seconds = static_cast<double>(time) * 1e-9;
    if (bucket + 1 < Latencies::kBuckets) CHECK(seconds < Latencies::end_of(bucket) * (1 + 1e-12));
    if (bucket > 0) CHECK(seconds >= Latencies::end_of(bucket - 1) * (1 - 1e-12));
    if (bucket > 0 && bucket + 1 < Latencies::kBuckets)
      CHECK(Latencies::end_of(bucket) <= 1.25 * Latencies::end_of(bucket - 1) * (1 + 1e-12));
  }
  CHECK(Latencies::bucket_of(~std::uint64_t{0}) == Latencies::kBuckets - 1);
  Latencies latencies;
  CHECK(latencies.quantile(0.5) == 0);
  latencies.counts[Latencies::bucket_of(1'000)] = 98;
  latencies.counts[Latencies::bucket_of(1'000'000)] = 2;
  CHECK(latencies.count() == 100);
  CHECK(latencies.count_to(Latencies::bucket_of(2'000)) == 98);
  CHECK(latencies.quantile(0) == latencies.quantile(0.98));
  CHECK(latencies.quantile(0.5) == Latencies::end_of(Latencies::bucket_of(1'000)));
  CHECK(latencies.quantile(0.99) == Latencies::end_of(Latencies::bucket_of(1'000'000)));
  CHECK(latencies.quantile(1) == latencies.quantile(0.99));
}

TEST_CASE("a runtime counts each of its calls", "[executor][metrics]") {
  StaticRuntime<> runtime{StaticModule(doubled())};
  const at::Tensor x = at::rand({8}), out = at::empty({8});
  CHECK(runtime.metrics().calls == 0);
  constexpr std::uint64_t kCalls = 1'000;
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    switch (i % 3) {
      case 0:
        runtime(x);
        break;
      case 1:
        runtime(std::vector<c10::IValue>{x}, {});
        break;
      default:
        runtime.run_into({c10::IValue(x)}, {out});
    }
  }
  runtime.run_async({x})->wait();
  const CallMetrics figures = runtime.metrics();
  CHECK(figures.calls == kCalls + 1);
  CHECK(figures.replayed == runtime.replayed_calls());
  CHECK(figures.replayed > kCalls - 10);
  CHECK(figures.failed == 0);
  CHECK(sum_of(figures) + figures.replayed + runtime.report().recorded_plans == figures.calls);
  CHECK(figures.latencies.count() <= figures.calls);
  CHECK(figures.latencies.count() + 64 > figures.calls);
  CHECK(figures.latencies.quantile(0.5) > 0);
  CHECK(figures.latencies.seconds > 0);
}

TEST_CASE("calls of reserve are not those of a user", "[executor][metrics]") {
  StaticRuntime<> runtime{StaticModule(doubled())};
  runtime.reserve({at::rand({8})});
  CHECK(runtime.metrics().calls == 0);
  runtime(at::rand({8}));
  const CallMetrics figures = runtime.metrics();
  CHECK(figures.calls == 1);
  CHECK(figures.replayed == 1);
}

TEST_CASE("calls that throw are counted by how they end", "[executor][metrics]") {
  StaticRuntime<> runtime{StaticModule(doubled())};
  const at::Tensor x = at::rand({8});
  for (int i = 0; i < 200; ++i) {
    CHECK_THROWS(runtime(c10::IValue("text")));
    CHECK_THROWS(runtime.run_into({c10::IValue(x)}, {at::empty({3})}));
    CallOptions late;
    late.deadline = CallOptions::Clock::now() - std::chrono::seconds(1);
    CHECK_THROWS_AS(runtime({x}, {}, late), CancelledError);
    runtime(x);
  }
  const CallMetrics figures = runtime.metrics();
  CHECK(figures.calls == 800);
  CHECK(figures.failed == 600);
  CHECK(figures.cancelled == 200);
  CHECK(figures.latencies.count() <= 200);  // only the others are known to have returned
}

TEST_CASE("a pool adds the calls of its runtimes, whoever makes them", "[executor][metrics]") {
  const RuntimePool<> pool{StaticModule(doubled())};
  std::atomic<bool> stops = false, has_more = false;
  std::thread reader([&] {
    while (!stops) has_more = has_more || pool.metrics().calls > 4'000 + 4;
  });
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      const at::Tensor x = at::rand({8});
      for (int call = 0; call < 1'000; ++call) pool(x);
    });
  }
  for (std::thread& caller : callers) caller.join();
  stops = true;
  reader.join();
  CHECK(!has_more);
  CHECK(pool.metrics().calls == 4'000);
  pool.trim();
  CHECK(pool.metrics().calls == 4'000);
  pool(at::rand({8}));
  CHECK(pool.metrics().calls == 4'001);
}

TEST_CASE("a timed call stands for those around it", "[executor][metrics]") {
  detail::CallCounters metrics;
  using Clock = std::chrono::steady_clock;
  const auto spin = [](std::chrono::microseconds time) {
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
    }
  };
  for (int i = 0; i < 30; ++i) measure(metrics, [&] { spin(std::chrono::microseconds(1000)); });
  const CallMetrics figures = metrics.metrics();
  CHECK(figures.calls == 30);
  CHECK(figures.latencies.count() == 30);  // each call is long enough to be timed
  CHECK(figures.latencies.quantile(0) >= 1e-3);
}

TEST_CASE("calls of two kinds in turn are timed alike", "[executor][metrics]") {
  detail::CallCounters metrics;
  constexpr std::uint64_t kCalls = 40'000, kLong = 20'000;  // nanoseconds
  using Clock = std::chrono::steady_clock;
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    measure(metrics, [&] {
      if (i % 2 == 0) return;
      for (const auto end = Clock::now() + std::chrono::nanoseconds(kLong); Clock::now() < end;) {
      }
    });
  }
  const Latencies latencies = metrics.metrics().latencies;
  const std::uint64_t short_calls = latencies.count_to(Latencies::bucket_of(kLong) - 1);
  CHECK(short_calls > kCalls / 4);
  CHECK(short_calls < kCalls * 3 / 4);
}

}  // namespace sr::test::call_metrics_tests
