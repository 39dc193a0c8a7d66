// Tests sessions that carry arguments of a model from call to call.
#include <string>
#include <thread>
#include <vector>

#include <torch/script.h>

#include <sr/batcher.hpp>
#include <sr/session_batch.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::carried_state_tests {

namespace {

using Catch::Matchers::Contains;

// Returns its hidden state twice, so that a result and the state are one tensor.
torch::jit::Module cell() {
  at::manual_seed(3);
  return script(
      "def forward(self, x, h, n: int = 0):\n    h = torch.tanh(x @ self.w + h)\n    return h, h, n + 1\n",
      {{"w", at::randn({4, 4})}});
}

}  // namespace

TEST_CASE("a session carries arguments from call to call", "[session][carried]") {
  torch::jit::Module model = cell();
  const StaticModule module(model);
  const Session session = module.session({{"h", 1}, {"n", 2}});
  CHECK(session.schema().arguments().size() == 1);
  CHECK(session.state().size() == 1);  // h has no value yet
  CHECK_THROWS_WITH(session({at::randn({1, 4})}),
                    Contains("'h', which the session carries, has no value yet"));
  session.load({{"h", at::zeros({1, 4})}}, /*strict=*/false);
  at::Tensor h = at::zeros({1, 4});
  for (int step = 0; step < 6; ++step) {
    const at::Tensor x = at::randn({1, 4});
    h = at::tanh(at::add(at::matmul(x, model.attr("w").toTensor()), h));
    const at::Tensor result = session({x}).toTensor();
    CHECK(at::allclose(result, h, 1e-5, 1e-6));
    result.fill_(7);  // the caller's
  }
  CHECK(at::allclose(session.state().at("h").toTensor(), h, 1e-5, 1e-6));
  CHECK(session.state().at("n").toInt() == 6);
  CHECK(module.metrics().replayed >= 3);

  const Session copy = session.clone();
  const at::Tensor x = at::randn({1, 4});
  at::Tensor into = at::empty({1, 4});
  session.run_into({x}, {into});
  CHECK(into.equal(copy({}, {{"x", x}}).toTensor()));
  CHECK(into.equal(copy.state().at("h").toTensor()));
  CHECK_THROWS_AS(session.run_into({x}, {at::empty({3})}), ArgumentError);
  CHECK(session.state().at("n").toInt() == 7);
  session.reset();
  CHECK(session.state().at("n").toInt() == 0);
  CHECK(copy.state().at("n").toInt() == 7);
}

TEST_CASE("a carried argument shares no memory with the caller", "[session][carried]") {
  // Returns what it was given, and a weight.
  torch::jit::Module model =
      script("def forward(self, x, a, b, c: List[Tensor]):\n    return x.sum(), x, self.w, [x, a]\n",
             {{"w", at::ones({2})}});
  const StaticModule module(model);
  const Session session = module.session({{"a", 1}, {"b", 2}, {"c", 3}});
  const at::Tensor first = at::zeros({2});
  session.load({{"a", first}, {"b", first}, {"c", c10::List<at::Tensor>({first})}});
  first.fill_(3);
  CHECK(session.state().at("a").toTensor().equal(at::zeros({2})));
  for (int step = 0; step < 4; ++step) {
    const at::Tensor x = at::full({2}, step), before = at::full({2}, step - 1);
    CHECK(session({x}).toTensor().item<double>() == 2 * step);
    x.fill_(9);
    const NamedState state = session.state();
    CHECK(state.at("a").toTensor().equal(at::full({2}, step)));
    CHECK(state.at("b").toTensor().equal(at::ones({2})));
    const c10::List<at::Tensor> list = state.at("c").toTensorList();
    CHECK(list.get(0).equal(at::full({2}, step)));
    CHECK(list.get(1).equal(step == 0 ? at::zeros({2}) : before));
  }
  model.attr("w").toTensor().fill_(5);
  CHECK(session.state().at("b").toTensor().equal(at::ones({2})));
}

TEST_CASE("a call that throws leaves carried arguments as they were", "[session][carried]") {
  const StaticModule module(
      script("def forward(self, x, h):\n    h = h + x\n    if bool(h.sum() > 10):\n        raise "
             "RuntimeError('too large')\n"
             "    return h\n"));
  const Session session = module.session({{"h", 0}});
  session.load({{"h", at::zeros({2})}});
  for (int step = 1; step < 5; ++step) {
    CHECK(session({at::ones({2})}).isNone());  // nothing else is returned
    CHECK_THROWS_WITH(session({at::full({2}, 50)}), Contains("too large"));
    CHECK(session.state().at("h").toTensor().equal(at::full({2}, step)));
  }
  CHECK_THROWS_AS(session({at::ones({2}), at::ones({2})}), ArgumentError);
  CHECK_THROWS_AS(session.load({{"h", 3}}), ArgumentError);
  CHECK_THROWS_AS(session.load({{"k", at::ones({2})}}), ArgumentError);
}

TEST_CASE("run_async reserves a session that carries arguments", "[session][carried]") {
  const StaticModule module(cell());
  const Session session = module.session({{"h", 1}, {"n", 2}});
  session.load({{"h", at::zeros({1, 4})}}, /*strict=*/false);
  const Session twin = session.clone();
  for (int step = 0; step < 10; ++step) {
    const at::Tensor x = at::randn({1, 4});
    CallOptions options;
    std::vector<std::thread> threads;
    options.launcher = [&](std::function<void()> task) { threads.emplace_back(std::move(task)); };
    const auto future = session.run_async({x}, {}, options);
    future->wait();
    for (std::thread& thread : threads) thread.join();
    CHECK(future->value().toTensor().equal(twin({x}).toTensor()));
  }
  CHECK(session.state().at("n").toInt() == 10);
}

TEST_CASE("what cannot be carried is refused", "[session][carried]") {
  const StaticModule module(cell());
  CHECK_THROWS_WITH(module.session({{"k", 1}}), Contains("no argument 'k'"));
  CHECK_THROWS_WITH(module.session({{"h", 3}}), Contains("has 3 results"));
  CHECK_THROWS_WITH(module.session({{"h", 1}, {"n", 1}}), Contains("carried once"));
  const StaticModule stateful(
      script("def forward(self, x, h):\n    self.c += x\n    return h + self.c\n", {{"c", at::zeros({2})}}));
  CHECK_THROWS_WITH(stateful.session({{"h", 0}}), Contains("keeps state between calls itself"));
  const Session session = module.session({{"h", 1}});
  CHECK_THROWS_WITH(session.bind({at::zeros({1, 4})}), Contains("cannot be bound"));
  const Session other = module.session({{"h", 0}});
  const at::Tensor x = at::zeros({1, 4});
  CHECK_THROWS_WITH(run_sessions({session, other}, {{x}, {x}}), Contains("carry different arguments"));
  CHECK_THROWS_WITH(Batcher(module)(session, {x}), Contains("a batcher takes no calls"));
}

TEST_CASE("calls of sessions that carry arguments are joined", "[session][carried][batch]") {
  // The rows of the hidden state lie in dimension 1, those of the argument in dimension 0.
  const StaticModule module(
      script("def forward(self, x, h, n: int = 0):\n    y = torch.tanh(torch.matmul(x, self.w) + h[0])\n"
             "    return y * 2, y.unsqueeze(0), n + 1\n",
             {{"w", at::randn({4, 4})}}));
  const auto begin = [&](double value) {
    const Session session = module.session({{"h", 1}, {"n", 2}});
    session.load({{"h", at::full({1, 1, 4}, value)}}, /*strict=*/false);
    return session;
  };
  std::vector<Session> joined, alone;
  for (int i = 0; i < 6; ++i) {
    joined.push_back(begin(i));
    alone.push_back(begin(i));
  }
  BatcherOptions options;
  options.state_dims = {{"h", 1}};
  for (int step = 0; step < 6; ++step) {
    std::vector<std::vector<c10::IValue>> inputs;
    for (int i = 0; i < 6; ++i) inputs.push_back({at::randn({1, 4})});
    if (step == 3) {  // another counter: two batches
      joined[1](inputs[1]);
      alone[1](inputs[1]);
    }
    const std::uint64_t before = module.metrics().calls;
    const std::vector<c10::IValue> results = run_sessions(joined, inputs, options);
    const std::uint64_t calls = module.metrics().calls - before;
    if (step == 1 || step == 2) CHECK(calls == 1);  // the first is compared with a separate call
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(at::allclose(results[i].toTensor(), alone[i](inputs[i]).toTensor(), 1e-5, 1e-6));
      CHECK(at::allclose(joined[i].state().at("h").toTensor(), alone[i].state().at("h").toTensor(), 1e-5,
                         1e-6));
      CHECK(joined[i].state().at("n").toInt() == alone[i].state().at("n").toInt());
    }
  }
  const Session without = module.session({{"h", 1}, {"n", 2}});  // no first value
  CHECK_THROWS_WITH(run_sessions({joined[0], without}, {{at::zeros({1, 4})}, {at::zeros({1, 4})}}, options),
                    Contains("has no value yet"));
}

}  // namespace sr::test::carried_state_tests
