// Batches of requests: each gets the result that it would get alone, whoever waits beside it.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <sr/batcher.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::batcher_tests {

using namespace std::chrono_literals;

StaticModule perceptron() {
  at::manual_seed(5);
  return StaticModule(
      script("def forward(self, x):\n"
             "    h = torch.layer_norm(torch.relu(torch.linear(x, self.a)), [48])\n"
             "    return torch.softmax(torch.linear(h, self.b), -1)\n",
             {{"a", at::randn({48, 20})}, {"b", at::randn({7, 48})}}));
}

// A model whose calls wait until the gate is open, and which notes what it was given.
class Gate {
 public:
  explicit Gate(StaticModule module) : module_(std::move(module)) {}

  BatchModel model() {
    return [this](std::vector<c10::IValue> args, const CallOptions&) {
      std::unique_lock lock(mutex_);
      calls_.push_back(args);
      changed_.notify_all();
      changed_.wait(lock, [&] { return is_open_; });
      lock.unlock();
      return module_(std::move(args));
    };
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void wait_for_calls(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_.size() >= count; });
  }
  std::vector<std::vector<c10::IValue>> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  StaticModule module_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<c10::IValue>> calls_;
  bool is_open_ = false;
};

void wait_until(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::sleep_for(1ms);
}

// Requests that wait behind a first one, which holds the only place, and what becomes of them.
class Held {
 public:
  Held(const StaticModule& module, BatcherOptions options, std::vector<c10::IValue> first)
      : gate_(module), batcher_(module, gate_.model(), one_at_a_time(std::move(options))) {
    add(std::move(first));
    gate_.wait_for_calls(1);
  }
  ~Held() { finish(); }

  void add(std::vector<c10::IValue> args, CallOptions options = {}) {
    const std::size_t index = threads_.size();
    results_.emplace_back();
    errors_.emplace_back();
    threads_.emplace_back([this, index, args = std::move(args), options = std::move(options)]() mutable {
      try {
        c10::IValue result = batcher_(std::move(args), {}, options);
        const std::scoped_lock lock(mutex_);
        results_[index] = std::move(result);
      } catch (const std::exception& error) {
        const std::scoped_lock lock(mutex_);
        errors_[index] = error.what();
      }
    });
    if (index == 0) return;
    const std::size_t waiting = ++waiting_;
    wait_until([&] { return batcher_.report().waiting == waiting; });
  }
  void finish() {
    gate_.open();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  at::Tensor result(std::size_t index) { return results_.at(index)->toTensor(); }
  std::string error(std::size_t index) { return errors_.at(index); }
  bool has_result(std::size_t index) { return results_.at(index).has_value(); }
  Gate& gate() { return gate_; }
  Batcher& batcher() { return batcher_; }
  void forget_one() { --waiting_; }

 private:
  static BatcherOptions one_at_a_time(BatcherOptions options) {
    options.max_running = 1;
    return options;
  }

  Gate gate_;
  Batcher batcher_;
  std::mutex mutex_;
  std::deque<std::optional<c10::IValue>> results_;
  std::deque<std::string> errors_;
  std::deque<std::thread> threads_;
  std::size_t waiting_ = 0;
};

TEST_CASE("a request that finds no others is a call of the model", "[batcher]") {
  const StaticModule module = perceptron();
  const Batcher batcher(module);
  const at::Tensor x = at::randn({3, 20});
  CHECK(batcher({x}).toTensor().equal(module({x}).toTensor()));
  CHECK(batcher({}, {{"x", x}}).toTensor().equal(module({x}).toTensor()));
  const BatcherReport report = batcher.report();
  CHECK(report.requests == 2);
  CHECK(report.batches == 2);
  CHECK(report.rows == 6);
  CHECK(report.batches_by_rows[2] == 2);
}

TEST_CASE("requests that wait are joined", "[batcher]") {
  const StaticModule module = perceptron();
  std::vector<at::Tensor> inputs;
  for (const std::int64_t rows : {1, 2, 0, 5, 1}) inputs.push_back(at::randn({rows, 20}));
  inputs.push_back(at::randn({20, 4}).t());  // not contiguous
  Held held(module, {}, {inputs[0]});
  for (std::size_t i = 1; i < inputs.size(); ++i) held.add({inputs[i]});
  held.finish();
  REQUIRE(held.gate().calls().size() == 2);
  CHECK(held.gate().calls()[1][0].toTensor().size(0) == 12);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor expected = module({inputs[i]}).toTensor(), result = held.result(i);
    CHECK(result.sizes() == expected.sizes());
    CHECK(at::allclose(result, expected, 1e-5, 1e-7));
    CHECK(result.is_contiguous());
    CHECK(result.storage().nbytes() == result.nbytes());  // of its own
  }
  CHECK(held.batcher().report().divided == 0);
}

TEST_CASE("a batch has at most max_rows, and a larger request runs by itself", "[batcher]") {
  const StaticModule module = perceptron();
  BatcherOptions options;
  options.max_rows = 4;
  Held held(module, options, {at::randn({1, 20})});
  for (const std::int64_t rows : {3, 2, 9, 1, 1}) held.add({at::randn({rows, 20})});
  held.finish();
  std::vector<std::int64_t> rows;
  for (const auto& call : held.gate().calls()) rows.push_back(call[0].toTensor().size(0));
  CHECK(rows == std::vector<std::int64_t>{1, 4, 3, 9});  // 3 and 1; 2 and 1; 9 alone
}

TEST_CASE("requests that differ in more than their rows are not joined", "[batcher]") {
  const StaticModule module(
      script("def forward(self, x, scale: float, table):\n    return x * scale + table\n", {}));
  BatcherOptions options;
  options.shared = {2};
  const at::Tensor table = at::randn({4}), other_table = at::randn({4});
  Held held(module, options, {at::randn({1, 4}), 1.0, table});
  std::vector<std::vector<c10::IValue>> requests{
      {at::randn({2, 4}), 2.0, table},       {at::randn({3, 4}), 3.0, table},
      {at::randn({1, 4}), 2.0, other_table}, {at::randn({1, 4}, at::kDouble), 2.0, table},
      {at::randn({1, 1}), 2.0, table},       {at::randn({2, 4}), 2.0, table}};
  for (const auto& request : requests) held.add(request);
  held.finish();
  CHECK(held.gate().calls().size() == 6);  // only the first and the last are joined
  for (std::size_t i = 0; i < requests.size(); ++i)
    CHECK(held.result(i + 1).equal(module(requests[i]).toTensor()));
}

TEST_CASE("a bad request fails alone", "[batcher]") {
  const StaticModule module(script("def forward(self, x):\n    return torch.embedding(self.table, x)\n",
                                   {{"table", at::randn({10, 3})}}));
  Held held(module, {}, {at::zeros({1}, at::kLong)});
  for (const std::int64_t index : {4, 77, 9}) held.add({at::full({2}, index, at::kLong)});
  held.finish();
  CHECK(held.result(1).size(0) == 2);
  CHECK(held.result(3).size(0) == 2);
  CHECK_FALSE(held.has_result(2));
  CHECK(held.error(2).find("index out of range") != std::string::npos);
  CHECK(held.batcher().report().divided == 1);
  CHECK(held.batcher().report().failed == 1);
  // Arguments that do not fit never wait.
  CHECK_THROWS_AS(held.batcher()({}), ArgumentError);
  CHECK_THROWS_AS(held.batcher()({at::zeros({1}), at::zeros({1})}), ArgumentError);
}

TEST_CASE("a full queue answers at once", "[batcher]") {
  const StaticModule module = perceptron();
  BatcherOptions options;
  options.max_waiting = 2;
  Held held(module, options, {at::randn({1, 20})});
  held.add({at::randn({1, 20})});
  held.add({at::randn({1, 20})});
  CHECK_THROWS_AS(held.batcher()({at::randn({1, 20})}), BusyError);
  CHECK_THROWS_AS(held.batcher().submit({at::randn({1, 20})}), BusyError);
  held.finish();
  CHECK(held.batcher().report().refused == 2);
  CHECK(held.batcher().report().requests == 3);
}

TEST_CASE("a deadline or a stop token ends a request that waits, and no other", "[batcher]") {
  const StaticModule module = perceptron();
  const at::Tensor x = at::randn({1, 20});
  Held held(module, {}, {x});
  held.add({x});
  CallOptions late;
  late.deadline = CallOptions::Clock::now() + 500ms;
  held.add({x}, late);
  std::stop_source source;
  CallOptions stopped;
  stopped.stop = source.get_token();
  wait_until([&] { return held.batcher().report().cancelled == 1; });
  held.forget_one();
  held.add({x}, stopped);
  held.add({x});
  source.request_stop();
  wait_until([&] { return held.batcher().report().cancelled == 2; });
  held.finish();
  CHECK(held.error(2).find("deadline has passed") != std::string::npos);
  CHECK(held.error(3).find("stop token") != std::string::npos);
  CHECK(held.gate().calls().size() == 2);
  CHECK(held.gate().calls()[1][0].toTensor().size(0) == 2);
  for (const std::size_t index : {0, 1, 4}) CHECK(held.has_result(index));
}

TEST_CASE("sequences are padded, and their results cut", "[batcher]") {
  const StaticModule module(
      script("def forward(self, ids, mask):\n"
             "    x = torch.embedding(self.table, ids) * mask.unsqueeze(2)\n"
             "    return x, x.sum(1) / mask.sum(1).unsqueeze(1)\n",
             {{"table", at::randn({10, 3})}}));
  BatcherOptions options;
  options.padding = {{0, 1, 9}, {1, 1, 0}};
  options.padded_result_dim = 1;
  Gate gate(module);
  options.max_running = 1;
  Batcher batcher(module, gate.model(), options);
  std::vector<std::vector<c10::IValue>> requests;
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> futures;
  for (const std::int64_t length : {4, 2, 7, 5})
    requests.push_back({at::randint(0, 9, {2, length}, at::kLong), at::ones({2, length})});
  for (const auto& request : requests) {
    futures.push_back(batcher.submit(request));
    gate.wait_for_calls(1);
  }
  gate.open();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    futures[i]->waitAndThrow();
    const auto result = futures[i]->value().toTuple(), expected = module(requests[i]).toTuple();
    for (const std::size_t element : {0, 1}) {
      const at::Tensor one = result->elements()[element].toTensor();
      CHECK(one.sizes() == expected->elements()[element].toTensor().sizes());
      CHECK(at::allclose(one, expected->elements()[element].toTensor()));
    }
  }
  REQUIRE(gate.calls().size() == 2);
  CHECK(gate.calls()[1][0].toTensor().sizes() == at::IntArrayRef({6, 7}));
}

TEST_CASE("rows may lie along any dimension", "[batcher]") {
  const StaticModule module(
      script("def forward(self, x):\n    return [x * 2, x.sum(0, keepdim=True)]\n", {}));
  BatcherOptions options;
  options.dim = 1;
  options.max_running = 1;
  Gate gate(module);
  Batcher batcher(module, gate.model(), options);
  std::vector<at::Tensor> inputs;
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> futures;
  for (const std::int64_t rows : {1, 2, 4}) {
    inputs.push_back(at::randn({3, rows}));
    futures.push_back(batcher.submit({inputs.back()}));
    gate.wait_for_calls(1);
  }
  gate.open();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    futures[i]->waitAndThrow();
    const std::vector<at::Tensor> result = futures[i]->value().toTensorVector();
    CHECK(result[0].equal(inputs[i] * 2));
    CHECK(at::allclose(result[1], inputs[i].sum(0, true)));
  }
  CHECK(gate.calls().size() == 2);
}

TEST_CASE("results that cannot be divided are refused", "[batcher]") {
  const StaticModule module(script("def forward(self, x):\n    return x.sum(0)\n", {}));
  Held held(module, {}, {at::randn({1, 20})});
  held.add({at::randn({1, 20})});
  held.add({at::randn({2, 20})});
  held.finish();
  for (const std::size_t index : {1, 2})
    CHECK(held.error(index).find("cannot be divided among the requests") != std::string::npos);
}

TEST_CASE("rows are equal to the bit for any batch", "[batcher]") {
  const StaticModule module = perceptron();
  BatcherOptions options;
  options.equal_rows = true;
  options.max_wait = 200us;
  const Batcher batcher(module, options);
  const at::Tensor x = at::randn({64, 20});
  std::vector<at::Tensor> expected;
  for (std::int64_t i = 0; i < 64; ++i) expected.push_back(batcher({x.narrow(0, i, 1)}).toTensor());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      for (std::int64_t call = 0; call < 200; ++call) {
        const std::int64_t row = (call * 7 + caller * 11) % 60, rows = 1 + call % 3;
        const at::Tensor result = batcher({x.narrow(0, row, rows)}).toTensor();
        for (std::int64_t i = 0; i < rows; ++i)
          wrong += result.narrow(0, i, 1).equal(expected[static_cast<std::size_t>(row + i)]) ? 0 : 1;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
  CHECK(batcher.report().batches < batcher.report().requests);
}

TEST_CASE("the destructor waits for requests that were submitted", "[batcher]") {
  const StaticModule module = perceptron();
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> futures;
  {
    BatcherOptions options;
    options.max_wait = 10s;  // no longer, then
    const Batcher batcher(module, options);
    for (int i = 0; i < 50; ++i) futures.push_back(batcher.submit({at::randn({1, 20})}));
  }
  for (const auto& future : futures) {
    REQUIRE(future->completed());
    CHECK(future->value().toTensor().size(0) == 1);
  }
}

TEST_CASE("options that contradict the module are refused", "[batcher]") {
  const StaticModule module = perceptron();
  const auto refused = [&](const std::function<void(BatcherOptions&)>& change) {
    BatcherOptions options;
    change(options);
    CHECK_THROWS_AS(Batcher(module, options), ArgumentError);
  };
  refused([](BatcherOptions& options) { options.max_rows = 0; });
  refused([](BatcherOptions& options) { options.max_waiting = 0; });
  refused([](BatcherOptions& options) { options.dim = -2; });
  refused([](BatcherOptions& options) { options.shared = {1}; });
  refused([](BatcherOptions& options) { options.padding = {{1, 1, 0}}; });
  refused([](BatcherOptions& options) { options.padding = {{0, 0, 0}}; });
  refused([](BatcherOptions& options) { options.padded_result_dim = 1; });
}

TEST_CASE("a call fills its trace", "[batcher]") {
  const StaticModule module = perceptron();
  const RuntimePool<> pool(module);
  const at::Tensor x = at::randn({3, 20});
  std::vector<CallTrace::Path> paths;
  for (int call = 0; call < 4; ++call) {
    CallTrace trace;
    trace.with_steps = true;
    CallOptions options;
    options.trace = &trace;
    const at::Tensor result = pool({x}, {}, options).toTensor();
    CHECK(result.equal(pool(x).toTensor()));
    CHECK(trace.arrived <= trace.began);
    CHECK(trace.began < trace.ended);
    REQUIRE(!trace.steps.empty());
    for (const CallTrace::Step& step : trace.steps) {
      CAPTURE(step.name);
      CHECK(trace.began <= step.begin);
      CHECK(step.end <= trace.ended);
      CHECK(step.name.starts_with("sr: ") == (trace.path == CallTrace::Path::replay));
    }
    paths.push_back(trace.path);
  }
  CHECK(std::ranges::count(paths, CallTrace::Path::replay) >= 1);
  CHECK(paths.front() != CallTrace::Path::replay);
  CHECK(paths.back() == CallTrace::Path::replay);

  CallTrace trace;  // without steps, asynchronously, and of a call that throws
  CallOptions options;
  options.trace = &trace;
  pool.run_async({x}, {}, options)->waitAndThrow();
  CHECK(trace.path == CallTrace::Path::replay);
  CHECK(trace.steps.empty());
  CallTrace failed;
  options.trace = &failed;
  CHECK_THROWS(pool({at::randn({3, 19})}, {}, options));
  CHECK(failed.began < failed.ended);
  CHECK(failed.path == CallTrace::Path::general);
}

TEST_CASE("requests of a batch have its trace", "[batcher]") {
  const StaticModule module = perceptron();
  BatcherOptions chosen;
  chosen.max_wait = std::chrono::milliseconds(100);
  chosen.max_running = 1;
  const Batcher batcher(module, chosen);
  std::vector<CallTrace> traces(4);
  traces[0].with_steps = true;
  std::vector<c10::intrusive_ptr<c10::ivalue::Future>> futures;
  for (std::size_t i = 0; i < 5; ++i) {
    CallOptions options;
    if (i < traces.size()) options.trace = &traces[i];
    futures.push_back(batcher.submit({at::randn({2, 20})}, {}, options));
  }
  for (const auto& future : futures) future->waitAndThrow();
  for (const CallTrace& trace : traces) {
    CHECK(trace.requests == 5);
    CHECK(trace.rows == 10);
    CHECK(trace.arrived < trace.began);
    CHECK(trace.began == traces[0].began);
    CHECK(trace.began < trace.ended);
    CHECK(trace.steps.empty() == !trace.with_steps);
  }
}

}  // namespace sr::test::batcher_tests
