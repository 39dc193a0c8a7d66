// Batches of requests: each gets the result that it would get alone, whoever waits beside it.
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <sr/batcher.hpp>
#include <sr/sr.hpp>

#include "held_requests.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::batcher_tests {

using namespace std::chrono_literals;

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
    CHECK(result.storage().nbytes() == result.nbytes());  // not a part of the batch
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

TEST_CASE("a blocking call is answered when the submitted request in front of it is cancelled", "[batcher]") {
  const StaticModule module = perceptron();
  const at::Tensor x = at::randn({1, 20});
  BatcherOptions options;
  options.max_wait = 300ms;
  const Batcher batcher(module, options);
  CallOptions soon, later;
  soon.deadline = CallOptions::Clock::now() + 50ms;
  const auto dropped = batcher.submit({x}, {}, soon);
  later.deadline = CallOptions::Clock::now() + 20s;
  CHECK(batcher({x}, {}, later).toTensor().equal(module({x}).toTensor()));
  REQUIRE(dropped->completed());
  CHECK(dropped->hasError());
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

}  // namespace sr::test::batcher_tests
