// Tests calls of several sessions that are joined into one call, by run_sessions and by batchers.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/batcher.hpp>
#include <sr/session_batch.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/session_oracle.hpp"

namespace sr::test::session_batch_tests {

namespace {

const OracleOptions kClose{.rtol = 1e-5, .atol = 1e-5};

// x, the hidden state and the cell have a row for each stream. The rows of the cell are in dimension 1.
torch::jit::Module streams() {
  return script(
      "def forward(self, x):\n    self.h = torch.tanh(x @ self.w + self.h)\n"
      "    self.c.copy_(self.c * 0.5 + self.h.unsqueeze(0))\n    self.n += 1\n"
      "    return self.h + self.c[0], self.h * self.n\n",
      {{"w", at::rand({4, 4})},
       {"h", at::zeros({1, 4})},
       {"c", at::zeros({1, 1, 4})},
       {"n", c10::IValue(0)}});
}

BatcherOptions options() {
  BatcherOptions made;
  made.state_dims = {{"c", 1}};
  return made;
}

// Compares two sessions, called together with rows of `width` elements, with the interpreter.
void check_two_sessions(const torch::jit::Module& model, std::int64_t width, int steps) {
  const StaticModule module(model);
  const std::vector<Session> sessions{module.session(), module.session()};
  SessionOracle first(model), second(model);
  for (int step = 0; step < steps; ++step) {
    const std::vector<std::vector<c10::IValue>> inputs{{at::randn({1, width})}, {at::randn({1, width})}};
    const std::vector<c10::IValue> results = run_sessions(sessions, inputs);
    CHECK(compare_values(*first(inputs[0]), results[0], kClose, "result") == "");
    CHECK(compare_values(*second(inputs[1]), results[1], kClose, "result") == "");
    CHECK(compare_state(first, sessions[0].state(), kClose) == "");
    CHECK(compare_state(second, sessions[1].state(), kClose) == "");
  }
}

}  // namespace

TEST_CASE("joined sessions have the results and states of separate calls", "[session][batch]") {
  const torch::jit::Module model = streams();
  const StaticModule module(model);
  std::vector<Session> sessions;
  std::vector<SessionOracle> oracles;
  for (int i = 0; i < 7; ++i) {
    sessions.push_back(module.session());
    oracles.emplace_back(model);
  }
  for (int step = 0; step < 6; ++step) {
    INFO("step " << step);
    std::vector<std::vector<c10::IValue>> inputs;
    for (int i = 0; i < 7; ++i) inputs.push_back({at::randn({1, 4})});
    const std::vector<c10::IValue> results = run_sessions(sessions, inputs, options());
    REQUIRE(results.size() == 7);
    for (std::size_t i = 0; i < 7; ++i) {
      const auto expected = oracles[i](inputs[i]);
      CHECK(compare_values(*expected, results[i], kClose, "result") == "");
      CHECK(compare_state(oracles[i], sessions[i].state(), kClose) == "");
    }
  }
  // A separate call in between. The counter then differs, and the session is not joined.
  const std::vector<c10::IValue> x{at::randn({1, 4})};
  CHECK(compare_values(*oracles[3](x), sessions[3](x), kClose, "result") == "");
  std::vector<std::vector<c10::IValue>> inputs(7, x);
  const std::vector<c10::IValue> results = run_sessions(sessions, inputs, options());
  for (std::size_t i = 0; i < 7; ++i)
    CHECK(compare_values(*oracles[i](x), results[i], kClose, "result") == "");
}

TEST_CASE("with equal_rows, results are bit-identical whatever sessions are joined", "[session][batch]") {
  const StaticModule module(streams());
  BatcherOptions equal = options();
  equal.equal_rows = true;
  std::vector<at::Tensor> inputs;
  for (int step = 0; step < 5; ++step) inputs.push_back(at::randn({1, 4}));
  const Session alone = module.session();
  std::vector<c10::IValue> expected;
  for (int warm = 0; warm < 2; ++warm) {
    alone.reset();
    expected.clear();
    for (const at::Tensor& x : inputs) expected.push_back(run_sessions({alone}, {{x}}, equal)[0]);
  }
  for (const std::size_t count : {2, 5, 13}) {
    std::vector<Session> sessions;
    for (std::size_t i = 0; i < count; ++i) sessions.push_back(module.session());
    for (std::size_t step = 0; step < inputs.size(); ++step) {
      std::vector<std::vector<c10::IValue>> given(count, {at::randn({1, 4})});
      given[1] = {inputs[step]};
      const std::vector<c10::IValue> results = run_sessions(sessions, given, equal);
      INFO(count << " sessions, step " << step);
      CHECK(compare_values(expected[step], results[1], {}, "result") == "");
    }
  }
}

TEST_CASE("if a joined call throws, its calls run separately", "[session][batch]") {
  const StaticModule module(
      script("def forward(self, x):\n    self.h += x\n    if bool((self.h > 10).any()):\n"
             "        raise RuntimeError('too large')\n    return self.h * 2\n",
             {{"h", at::zeros({1, 2})}}));
  const std::vector<Session> sessions{module.session(), module.session(), module.session()};
  const auto inputs = [](double second) {
    return std::vector<std::vector<c10::IValue>>{
        {at::ones({1, 2})}, {at::full({1, 2}, second)}, {at::ones({1, 2})}};
  };
  run_sessions(sessions, inputs(1));
  CHECK_THROWS_WITH(run_sessions(sessions, inputs(50)), Catch::Matchers::Contains("too large"));
  const std::vector<c10::IValue> results = run_sessions(sessions, inputs(1));
  CHECK(results[0].toTensor()[0][0].item<float>() == 6);
  CHECK(results[1].toTensor()[0][0].item<float>() == 4);
  CHECK(results[2].toTensor()[0][0].item<float>() == 6);
}

TEST_CASE("run_sessions refuses sessions that cannot be called together", "[session][batch]") {
  using Catch::Matchers::Contains;
  const StaticModule module(streams()), other(streams());
  const Session session = module.session();
  const std::vector<c10::IValue> x{at::randn({1, 4})};
  CHECK(run_sessions({}, {}).empty());
  CHECK_THROWS_WITH(run_sessions({session, session}, {x, x}), Contains("a session twice"));
  CHECK_THROWS_WITH(run_sessions({session, other.session()}, {x, x}), Contains("different modules"));
  CHECK_THROWS_WITH(run_sessions({session}, {}), Contains("0 calls for 1 sessions"));
  BatcherOptions wrong;
  wrong.state_dims = {{"nothing", 0}};
  CHECK_THROWS_WITH(run_sessions({session}, {x}, wrong), Contains("names 'nothing'"));
  CHECK_THROWS_AS(run_sessions({session}, {{at::randn({1, 4}), 1}}), ArgumentError);
}

TEST_CASE("a variable that holds the number of rows does not reset joined sessions", "[session][batch]") {
  // Like Silero VAD, the model resets its state if the number of rows differs from that of the last call.
  const torch::jit::Module model = script(
      "def forward(self, x):\n    if self.rows != x.size(0):\n"
      "        self.h = torch.zeros([x.size(0), 3])\n        self.rows = x.size(0)\n"
      "    self.h = self.h * 0.5 + x\n    self.n += 1\n    return self.h * 2\n",
      {{"h", at::zeros({0, 3})}, {"rows", c10::IValue(0)}, {"n", c10::IValue(0)}});
  const StaticModule module(model);
  std::vector<Session> sessions;
  std::vector<SessionOracle> oracles;
  const std::vector<std::int64_t> rows{1, 2, 1, 1, 3};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sessions.push_back(module.session());
    oracles.emplace_back(model);
  }
  for (std::size_t step = 0; step < 8; ++step) {
    // Groups of other sizes, so that a wrong number of rows resets them. The counter passes all of them.
    const std::size_t count = step % 3 == 2 ? 3 : rows.size();
    std::vector<std::vector<c10::IValue>> inputs;
    for (std::size_t i = 0; i < count; ++i) inputs.push_back({at::randn({rows[i], 3})});
    const std::vector<Session> called(sessions.begin(),
                                      sessions.begin() + static_cast<std::ptrdiff_t>(count));
    const std::vector<c10::IValue> results = run_sessions(called, inputs);
    for (std::size_t i = 0; i < count; ++i) {
      INFO("step " << step << ", session " << i);
      CHECK(compare_values(*oracles[i](inputs[i]), results[i], kClose, "result") == "");
      CHECK(compare_state(oracles[i], called[i].state(), kClose) == "");
    }
  }
}

TEST_CASE("sessions whose numbers depend on the number of rows run separately", "[session][batch]") {
  const torch::jit::Module model =
      script("def forward(self, x):\n    self.seen += x.size(0)\n    self.h += x\n    return self.h * 2\n",
             {{"h", at::zeros({1, 3})}, {"seen", c10::IValue(0)}});
  check_two_sessions(model, 3, 4);
}

TEST_CASE("variables that share memory after a joined call keep sharing it", "[session][batch]") {
  const torch::jit::Module model = script(
      "def forward(self, x):\n    self.a.add_(x)\n    h = self.a * 1.0\n    self.b = h\n    self.c = h\n"
      "    return self.b + self.c\n",
      {{"a", at::zeros({1, 2})}, {"b", at::zeros({1, 2})}, {"c", at::zeros({1, 2})}});
  check_two_sessions(model, 2, 3);
}

TEST_CASE("a batcher joins calls of sessions", "[session][batch][batcher]") {
  const torch::jit::Module model = streams();
  const StaticModule module(model);
  BatcherOptions waiting = options();
  waiting.max_rows = 4;
  waiting.max_wait = std::chrono::seconds(20);  // until the batch is full
  const Batcher batcher(module, waiting);
  std::vector<Session> sessions;
  std::vector<SessionOracle> oracles;
  for (int i = 0; i < 4; ++i) {
    sessions.push_back(module.session());
    oracles.emplace_back(model);
  }
  for (int step = 0; step < 4; ++step) {
    std::vector<std::vector<c10::IValue>> inputs;
    std::vector<c10::intrusive_ptr<c10::ivalue::Future>> futures;
    for (std::size_t i = 0; i < 4; ++i) {
      inputs.push_back({at::randn({1, 4})});
      futures.push_back(batcher.submit(sessions[i], inputs[i]));
      if (i < 3) CHECK_THROWS_AS(batcher.submit(sessions[i], inputs[i]), BusyError);
      if (i < 3) CHECK_THROWS_AS(sessions[i].state(), BusyError);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      futures[i]->wait();
      INFO("step " << step << ", session " << i);
      CHECK(compare_values(*oracles[i](inputs[i]), futures[i]->value(), kClose, "result") == "");
      CHECK(compare_state(oracles[i], sessions[i].state(), kClose) == "");
    }
  }
  CHECK(batcher.report().batches == 4);
  CHECK(batcher.report().divided == 0);
  const std::vector<c10::IValue> x{at::randn({1, 4})};
  CHECK_THROWS_WITH(batcher(x), Catch::Matchers::Contains("must be a call of a session"));
  const StaticModule other(model);
  CHECK_THROWS_WITH(batcher(other.session(), x), Catch::Matchers::Contains("another module"));
}

TEST_CASE("a cancelled request releases its session unchanged", "[session][batch][batcher]") {
  const StaticModule module(streams());
  BatcherOptions waiting = options();
  waiting.max_wait = std::chrono::seconds(20);
  const Batcher batcher(module, waiting);
  const Session session = module.session();
  CallOptions soon;
  soon.deadline = CallOptions::Clock::now() + std::chrono::milliseconds(20);
  CHECK_THROWS_AS(batcher(session, {at::randn({1, 4})}, {}, soon), CancelledError);
  CHECK(session.state().at("n").toInt() == 0);
  soon.deadline = CallOptions::Clock::now() + std::chrono::milliseconds(20);
  const auto future = batcher.submit(session, {at::randn({1, 4})}, {}, soon);
  future->wait();
  CHECK(future->hasError());
  CHECK(session.state().at("n").toInt() == 0);
}

TEST_CASE("calls of a model without state are joined", "[session][batch]") {
  const StaticModule module(script("def forward(self, x):\n    return x * 2\n"));
  const std::vector<Session> sessions{module.session(), module.session()};
  const std::vector<c10::IValue> results =
      run_sessions(sessions, {{at::ones({1, 3})}, {at::full({2, 3}, 5)}});
  CHECK(at::equal(results[0].toTensor(), at::full({1, 3}, 2)));
  CHECK(at::equal(results[1].toTensor(), at::full({2, 3}, 10)));
}

}  // namespace sr::test::session_batch_tests
