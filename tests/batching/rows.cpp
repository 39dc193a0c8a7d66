// Tests how the rows of requests are joined, padded and divided, and that their bits do not depend on the
// batch.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <sr/batcher.hpp>
#include <sr/sr.hpp>

#include "held_requests.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::batcher_tests {

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
  options.max_wait = std::chrono::microseconds(200);
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

}  // namespace sr::test::batcher_tests
