// RuntimePool, and calls that are cancelled.
#include <thread>

#include <sr/memory/standard_resizing.hpp>
#include <sr/runtime_pool.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/launchers.hpp"
#include "support/samples.hpp"

namespace sr::test::runtime_pool_tests {

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;

StaticModule perceptron() {
  StaticModuleOptions exact;
  exact.numerics = Numerics::exact;
  return StaticModule(script("def forward(self, x):\n    return torch.relu(torch.mm(x, self.w)) + 1\n",
                             {{"w", sample({4, 3})}}),
                      exact);
}

const std::string kCalls =
    "def forward(self, x):\n    a = torch.mm(x, x)\n    b = sr_test.call(a)\n    return torch.mm(b, b)\n";

CallOptions until(CallOptions::Clock::time_point deadline) {
  CallOptions options;
  options.deadline = deadline;
  return options;
}

}  // namespace

TEST_CASE("a pool answers as a runtime does, in every form of call", "[pool]") {
  const StaticModule module = perceptron();
  const RuntimePool<memory::StandardResizing> pool(module);
  StaticRuntime<> runtime(module);
  for (const at::Tensor& x : {sample({2, 4}), sample({5, 4}), sample({2, 4}), sample({0, 4})}) {
    const at::Tensor expected = runtime(x).toTensor();
    for (int i = 0; i < 3; ++i) {
      CHECK(at::equal(pool({x}).toTensor(), expected));
      CHECK(at::equal(pool(x).toTensor(), expected));
      CHECK(at::equal(pool({}, {{"x", x}}).toTensor(), expected));
      CHECK(at::equal(pool({x}, {}, CallOptions{}).toTensor(), expected));
      CHECK(at::equal(pool.run_async({x})->value().toTensor(), expected));
      CHECK(at::equal(module({x}).toTensor(), expected));
      const at::Tensor out = at::empty_like(expected);
      pool.run_into({x}, {out});
      CHECK(at::equal(out, expected));
      CHECK(at::equal((*pool.lease())(x).toTensor(), expected));
    }
  }
  CHECK(pool.report().pool.made == 1);
  CHECK_THROWS_AS(pool({1.5}), ArgumentError);
  CHECK(pool.run_async({sample({2, 3})})->hasError());
}

TEST_CASE("as many runtimes as callers at once, and no more than allowed", "[pool][errors]") {
  const StaticModule module = perceptron();
  const at::Tensor x = sample({2, 4});
  const RuntimePool<> pool(module, {.max_runtimes = 2, .timeout = 2ms});
  auto first = std::optional(pool.lease());
  const auto second = pool.lease();
  CHECK_THROWS_AS(pool(x), BusyError);
  CHECK_THROWS_WITH(pool(x), Contains("2 runtimes") && Contains("2000 us"));
  CHECK_THROWS_AS(pool({x}, {}, until(CallOptions::Clock::now() + 1ms)), CancelledError);
  first.reset();
  CHECK_NOTHROW(pool(x));
  const PoolReport report = pool.report();
  CHECK(report.pool.made == 2);
  CHECK(report.pool.waiting.timeouts == 3);
  CHECK_THROWS_WITH(RuntimePool<>(module, {.max_runtimes = 0}), Contains("max_runtimes is 0"));
  CHECK_THROWS_AS(RuntimePool<>(module, {.max_runtimes = 100'000}), ArgumentError);
}

TEST_CASE("reserved runtimes have their plans, trimmed ones are gone", "[pool]") {
  const RuntimePool<> pool(perceptron());
  const at::Tensor x = sample({2, 4});
  pool.reserve({x}, {}, 3);
  {
    const auto a = pool.lease(), b = pool.lease(), c = pool.lease();
    for (const auto* runtime : {&a, &b, &c}) {
      CHECK((**runtime).report().plans.size() == 1);
      (**runtime)(x);
      CHECK((**runtime).replayed_calls() >= 1);
    }
    CHECK(pool.report().pool.made == 4);
  }
  pool.trim();
  CHECK(pool.report().pool.made == 1);  // the one that answers here
}

TEST_CASE("reports warn of more threads than cores", "[pool]") {
  const StaticModule module = perceptron();
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const RuntimePool<> narrow(module, {.intra_op_threads = cores});
  CHECK(narrow.report().warning.empty());
  const RuntimePool<> wide(module, {.intra_op_threads = cores + 1});
  const PoolReport report = wide.report();
  CHECK(report.intra_op_threads == cores + 1);
  CHECK_THAT(report.warning, Contains("intra-op threads") && Contains(std::to_string(cores) + " cores"));
}

TEST_CASE("a pool's intra-op width is that of its calls alone", "[pool]") {
  const StaticModule module(script(kCalls));
  const RuntimePool<> pool(module, {.intra_op_threads = 3});
  const auto of_new_thread = [] {
    int width = 0;
    std::jthread([&] { width = at::get_num_threads(); }).join();
    return width;
  };
  int inside = 0, beside = 0;
  const OnCall hook([&](const at::Tensor&) {
    inside = at::get_num_threads();
    beside = of_new_thread();
  });
  const int before = at::get_num_threads(), new_before = of_new_thread();
  for (int i = 0; i < 4; ++i) {
    pool(at::ones({2, 2}));
    CHECK(inside == 3);
    CHECK(beside == new_before);
    CHECK(at::get_num_threads() == before);
  }
}

TEST_CASE("what a launcher throws is in the future of the call", "[pool][errors]") {
  const StaticModule module(script("def forward(self, x):\n    return x + 1\n"));
  CallOptions options;
  options.on_launcher = true;
  options.launcher = [](const std::function<void()>&) { throw std::runtime_error("no thread"); };
  StaticRuntime<> runtime{module};
  RuntimePool<> pool{module, {.max_runtimes = 1}};
  for (int call = 0; call < 2; ++call) {
    CHECK_THROWS_WITH(runtime.run_async({at::ones({2})}, {}, options)->waitAndThrow(), "no thread");
    CHECK_THROWS_WITH(pool.run_async({at::ones({2})}, {}, options)->waitAndThrow(), "no thread");
    CHECK(at::equal(pool({at::ones({2})}, {}).toTensor(), at::full({2}, 2.0)));  // the runtime was returned
  }
}

TEST_CASE("module, pool, lease, results and futures die in any order", "[pool]") {
  const at::Tensor x = sample({2, 4});
  auto module = std::optional(perceptron());
  const at::Tensor expected = (*module)({x}).toTensor();
  auto pool = std::make_unique<RuntimePool<>>(*module);
  auto lease = std::make_unique<RuntimePool<>::Lease>(pool->lease());
  const auto future = pool->run_async({x});
  module.reset();
  const c10::IValue kept = (*pool)(x);
  Held held;
  CallOptions later;
  later.launcher = held.launcher();
  later.on_launcher = true;
  const auto pending = pool->run_async({x}, {}, later);
  pool.reset();
  CHECK(at::equal((**lease)(x).toTensor(), expected));
  lease.reset();
  CHECK_FALSE(pending->completed());
  held.run_all();
  CHECK(at::equal(pending->value().toTensor(), expected));
  CHECK(at::equal(kept.toTensor(), expected));
  CHECK(at::equal(future->value().toTensor(), expected));
}

TEST_CASE("a runtime may die before the call it has on a launcher", "[pool]") {
  const at::Tensor x = sample({2, 4});
  Held held;
  CallOptions later;
  later.launcher = held.launcher();
  later.on_launcher = true;
  auto runtime = std::optional<StaticRuntime<>>(perceptron());
  const at::Tensor expected = (*runtime)(x).toTensor();
  const auto pending = runtime->run_async({x}, {}, later);
  const auto wrong = runtime->run_async({at::ones({3, 3})}, {}, later);
  runtime.reset();
  held.run_all();
  CHECK(at::equal(pending->value().toTensor(), expected));
  CHECK(wrong->hasError());
}

TEST_CASE("threads that call one pool with many shapes get the serial answers", "[pool][threads]") {
  const StaticModule module = perceptron();
  std::vector<at::Tensor> inputs, expected;
  for (std::int64_t rows = 0; rows < 6; ++rows) {
    inputs.push_back(sample({rows, 4}));
    expected.push_back(StaticRuntime<>(module)(inputs.back()).toTensor());
  }
  const RuntimePool<> pool(module, {.max_runtimes = 3});
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 6; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = 0; i < 300; ++i) {
          const std::size_t which = (thread + i * i) % inputs.size();
          wrong += at::equal(pool(inputs[which]).toTensor(), expected[which]) ? 0 : 1;
          wrong += at::equal(module({inputs[which]}).toTensor(), expected[which]) ? 0 : 1;
        }
      });
    }
  }
  CHECK(wrong == 0);
  CHECK(pool.report().pool.made <= 3);
}

TEST_CASE("cancelled before it begins, in the middle, and not at all", "[pool][errors]") {
  StaticModuleOptions general;
  general.debug.enable_replay = false;
  for (const StaticModuleOptions& options : {StaticModuleOptions{}, general}) {
    StaticRuntime<> runtime{StaticModule(script(kCalls), options)};
    const at::Tensor x = at::ones({2, 2});
    for (int i = 0; i < 4; ++i) {
      CAPTURE(options.debug.enable_replay, i);
      std::stop_source source;
      CallOptions call;
      call.stop = source.get_token();
      CHECK(runtime({x}, {}, call).toTensor()[0][0].item<float>() == 8);
      const OnCall hook([&](const at::Tensor&) { source.request_stop(); });
      CHECK_THROWS_AS(runtime({x}, {}, call), CancelledError);  // thrown by the operator in the middle
      CHECK_THROWS_WITH(runtime({x}, {}, call), Contains("stop token"));
      CHECK_THROWS_AS(runtime({x}, {}, until(CallOptions::Clock::now())), CancelledError);
      CHECK_THROWS_AS(runtime.run_into({x}, {at::empty({2, 2})}, call), CancelledError);
      CHECK(runtime.run_async({x}, {}, call)->hasError());
      CHECK(x.use_count() == 1);
    }
    CHECK(runtime(x).toTensor()[0][0].item<float>() == 8);
    CHECK(runtime({x}, {}, until(CallOptions::Clock::now() + 1h)).toTensor()[0][0].item<float>() == 8);
  }
}

TEST_CASE("a call without steps can be cancelled, too", "[pool][errors]") {
  StaticRuntime<> runtime{StaticModule(script("def forward(self, x):\n    return x\n"))};
  const at::Tensor x = at::ones({2});
  for (int i = 0; i < 4; ++i) {
    CHECK_THROWS_AS(runtime({x}, {}, until(CallOptions::Clock::now())), CancelledError);
    CHECK_NOTHROW(runtime(x));
  }
}

TEST_CASE("cancelling reaches loops and forked bodies", "[pool][errors][forks]") {
  StaticRuntime<> loop{
      StaticModule(script("def forward(self, x, n: int):\n    for i in range(n):\n        x = "
                          "sr_test.call(x) + x.sum()\n    return x\n"))};
  StaticRuntime<> fork{
      StaticModule(script("def body(self, x):\n    y = sr_test.call(x)\n    return torch.mm(y, y)\n"
                          "def forward(self, x):\n    return torch.wait(fork(self.body, x)) + 1\n"))};
  const at::Tensor x = at::ones({2, 2});
  for (int i = 0; i < 4; ++i) {
    std::stop_source source;
    CallOptions call;
    call.stop = source.get_token();
    int calls = 0;
    const OnCall hook([&](const at::Tensor&) {
      if (++calls == 3) source.request_stop();
    });
    CHECK_THROWS_AS(loop({x, 1000}, {}, call), CancelledError);
    CHECK(calls == 3);
    std::stop_source other;
    call.stop = other.get_token();
    const OnCall stops([&](const at::Tensor&) { other.request_stop(); });
    CHECK_THROWS_AS(fork({x}, {}, call), CancelledError);
  }
  CHECK(fork(x).toTensor()[0][0].item<float>() == 3);
}

}  // namespace sr::test::runtime_pool_tests
