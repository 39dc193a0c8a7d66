// Tests sessions: the state that each holds, the weights and plans that they share, and reset, load and
// clone.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <torch/script.h>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/session_checks.hpp"

namespace sr::test::session_call_tests {

namespace {

torch::jit::Module recurrent() {
  return script(
      "def forward(self, x):\n    self.h.copy_(torch.tanh(x * self.w + self.h))\n    self.n += 1\n"
      "    self.last = x\n    return self.h * self.n\n",
      {{"h", at::zeros({4})}, {"w", at::full({4}, 0.5)}, {"n", c10::IValue(0)}, {"last", at::zeros({4})}});
}

// Adds x to a buffer in place, and then throws if x has another number of elements.
torch::jit::Module adding(std::int64_t size) {
  return script("def forward(self, x):\n    self.h[0:1] += x[0]\n    return (self.h + x).sum()\n",
                {{"h", at::zeros({size})}});
}

float number(const c10::IValue& value) {
  return value.toTensor().item<float>();
}

}  // namespace

TEST_CASE("a session begins with the initial state and shares weights and plans", "[session]") {
  const torch::jit::Module model = recurrent();
  const StaticModule module(model);
  for (int i = 0; i < 3; ++i) module({at::ones({4})});
  std::vector<Session> sessions;
  std::vector<SessionOracle> oracles;
  for (int i = 0; i < 4; ++i) {
    sessions.push_back(module.session());
    oracles.emplace_back(model);
  }
  const std::uint64_t recorded = module.report().runtime.recorded_plans;
  for (int call = 0; call < 40; ++call) {
    const std::size_t which = static_cast<std::size_t>(call * 7 % 4);
    const InputSet inputs{at::randn({4})};
    INFO("call " << call << " of session " << which);
    const std::optional<c10::IValue> expected = oracles[which](inputs);
    CHECK(compare_values(*expected, sessions[which](copy_inputs(inputs)), {.rtol = 1e-5, .atol = 1e-5},
                         "result") == "");
    CHECK(compare_state(oracles[which], sessions[which].state(), {.rtol = 1e-5, .atol = 1e-5}) == "");
  }
  CHECK(module.report().runtime.recorded_plans <=
        recorded + 2);  // one plan for counter 0 and one for counter 1
  CHECK(module.report().runtime.replayed_calls >= 36);
}

TEST_CASE("calls that assign one tensor to several attributes are replayed", "[session]") {
  const at::Tensor first = at::zeros({3});
  const torch::jit::Module model = script(
      "def forward(self, x):\n    z = torch.tanh(x + self.b.sum())\n    self.a = z[:3]\n    self.b = z[1:]\n"
      "    self.c = [z, z * 2]\n    return self.a + self.b + self.c[0][:3]\n",
      {{"a", first}, {"b", first}, {"c", c10::List<at::Tensor>({first, first})}});
  const StaticModule module(model);
  const Session session = module.session();
  SessionOracle oracle(model);
  for (int call = 0; call < 12; ++call) {
    const InputSet inputs{at::randn({4})};
    INFO("call " << call);
    CHECK(compare_values(*oracle(inputs), session(copy_inputs(inputs)), {.rtol = 1e-5, .atol = 1e-5},
                         "result") == "");
    CHECK(compare_state(oracle, session.state(), {.rtol = 1e-5, .atol = 1e-5}) == "");
  }
  CHECK(module.metrics().replayed >= 8);
}

TEST_CASE("the report says that variables share memory", "[session]") {
  const StaticModule module(
      script("def forward(self, x):\n    self.a.add_(x)\n    self.b = self.a\n    return self.b * 2\n",
             {{"a", at::zeros({2})}, {"b", at::zeros({2})}}));
  for (int call = 0; call < 4; ++call) module({at::ones({2})});
  const std::vector<std::string> bailouts = module.report().runtime.bailouts;
  CHECK(std::ranges::any_of(bailouts, [](const std::string& why) {
    return why.find("Variables of the state share memory") != std::string::npos;
  }));
}

TEST_CASE("a session is reset, saved, loaded and cloned", "[session]") {
  const StaticModule module(recurrent());
  const Session session = module.session();
  const at::Tensor x = at::ones({4});
  const float first = number(session({x}).toTensor()[0]);
  const NamedState after_one = session.state();
  const float second = number(session({x}).toTensor()[0]);
  CHECK(second != first);
  const Session copy = session.clone();
  CHECK(number(copy({x}).toTensor()[0]) == number(session({x}).toTensor()[0]));
  session.reset();
  CHECK(number(session({x}).toTensor()[0]) == first);
  session({x});
  session.load(after_one);
  CHECK(number(session({x}).toTensor()[0]) == second);
  CHECK(after_one.at("n").toInt() == 1);
  CHECK(after_one.size() == 3);
}

TEST_CASE("a state shares no memory with arguments and loaded values", "[session]") {
  const StaticModule module(recurrent());
  const Session session = module.session();
  at::Tensor x = at::ones({4});
  c10::IValue result = session({x});
  const float before = number(session.state().at("h").toTensor()[0]);
  result.toTensor().fill_(9);
  x.fill_(7);
  NamedState state = session.state();
  CHECK(number(state.at("h").toTensor()[0]) == before);
  CHECK(number(state.at("last").toTensor()[0]) == 1);
  session.load(state);
  state.at("h").toTensor().fill_(5);
  CHECK(number(session.state().at("h").toTensor()[0]) == before);
}

TEST_CASE("a state that does not fit is refused", "[session]") {
  using Catch::Matchers::Contains;
  const StaticModule module(recurrent());
  const Session session = module.session();
  session({at::ones({4})});
  NamedState state = session.state();
  const auto with = [&](const std::string& name, const c10::IValue& value) {
    NamedState changed = state;
    changed[name] = value;
    return changed;
  };
  CHECK_THROWS_WITH(session.load(with("x", 1)), Contains("no 'x'. It has 'h', 'n', 'last'"));
  CHECK_THROWS_WITH(session.load(with("h", at::zeros({5}))), Contains("'h' has other sizes"));
  CHECK_THROWS_WITH(session.load(with("h", at::zeros({4}, at::kDouble))), Contains("'h' has other sizes"));
  CHECK_THROWS_WITH(session.load(with("n", 1.5)), Contains("'n' is of type float, expected int"));
  CHECK_THROWS_WITH(session.load({{"n", 1}}), Contains("has no 'h'"));
  CHECK(session.state().at("n").toInt() == 1);
  session.load({{"n", 5}}, /*strict=*/false);
  session.load(with("last", at::zeros({9})));
  CHECK(session.state().at("last").toTensor().size(0) == 9);
}

TEST_CASE("a session runs one call at a time, and sessions run concurrently", "[session][threads]") {
  const StaticModule module(script("def forward(self, x):\n    self.h += x\n    return self.h.sum()\n",
                                   {{"h", at::zeros({20000})}}));
  const at::Tensor x = at::ones({20000});
  const Session shared = module.session();
  std::atomic<int> answered = 0, busy = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&, own = module.session()] {
      for (int call = 1; call <= 200; ++call) {
        if (number(own({x})) != static_cast<float>(call) * 20000) answered = -1'000'000;
        try {
          shared({x});
          ++answered;
        } catch (const BusyError&) {
          ++busy;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(answered + busy == 600);
  CHECK(number(shared({x})) == static_cast<float>(answered + 1) * 20000);
}

TEST_CASE("an asynchronous call reserves its session until the future is complete", "[session][threads]") {
  const StaticModule module(recurrent());
  const Session session = module.session();
  CallOptions options;
  options.on_launcher = true;
  std::vector<std::function<void()>> waiting;
  options.launcher = [&](std::function<void()> task) { waiting.push_back(std::move(task)); };
  const auto future = session.run_async({at::ones({4})}, {}, options);
  CHECK_THROWS_AS(session({at::ones({4})}), BusyError);
  CHECK_THROWS_AS(session.state(), BusyError);
  CHECK_THROWS_AS(session.run_async({at::ones({4})}, {}, options), BusyError);
  REQUIRE(waiting.size() == 1);
  waiting[0]();
  future->wait();
  CHECK(session.state().at("n").toInt() == 1);
}

TEST_CASE("a call that throws leaves a small state unchanged and a large one broken", "[session]") {
  for (const bool replays : {false, true}) {
    StaticModuleOptions options;
    options.debug.enable_replay = replays;
    const StaticModule small(adding(100), options), large(adding(100'000), options);
    const Session of_small = small.session(), of_large = large.session();
    for (int i = 0; i < 3; ++i) {
      of_small({at::ones({100})});
      of_large({at::ones({100'000})});
    }
    for (int i = 0; i < 4; ++i) CHECK_THROWS(of_small({at::ones({7})}));
    CHECK(number(of_small({at::ones({100})})) == 104);
    CHECK_THROWS(of_large({at::ones({7})}));
    CHECK_THROWS_AS(of_large({at::ones({100'000})}), StateError);
    CHECK_THROWS_WITH(of_large.state(), Catch::Matchers::Contains("half written"));
    CHECK_THROWS_AS(of_large.clone(), StateError);
    of_large.reset();
    CHECK(number(of_large({at::ones({100'000})})) == 100'001);
  }
}

TEST_CASE("sessions follow updates of weights", "[session][weights]") {
  const StaticModule module(script("def forward(self, x):\n    self.n += 1\n    return x * self.w + self.n\n",
                                   {{"n", at::zeros({1})}, {"w", at::ones({1})}}));
  const Session a = module.session(), b = module.session();
  const at::Tensor x = at::ones({1});
  for (int i = 1; i <= 4; ++i) CHECK(number(a({x})) == static_cast<float>(1 + i));
  CHECK(number(b({x})) == 2);
  module.update({{"w", at::full({1}, 5)}}, /*strict=*/false);
  CHECK(number(a({x})) == 10);
  CHECK(number(b({x})) == 7);
}

TEST_CASE("a model without state has sessions", "[session]") {
  const StaticModule module(script("def forward(self, x):\n    return x * 2\n"));
  const Session session = module.session();
  CHECK(number(session({at::ones({1})})) == 2);
  CHECK(session.state().empty());
  session.reset();
  session.load({});
  CHECK_THROWS_WITH(session.load({{"h", 1}}), Catch::Matchers::Contains("It has nothing"));
  CHECK(number(session.clone()({at::ones({1})})) == 2);
}

TEST_CASE("results of a session are written into buffers", "[session]") {
  const StaticModule module(recurrent());
  const Session session = module.session(), other = module.session();
  const at::Tensor x = at::ones({4}), out = at::empty({4});
  for (int i = 0; i < 5; ++i) {
    session.run_into({x}, {out});
    CHECK(at::equal(out, other({x}).toTensor()));
  }
}

TEST_CASE("a bound call advances its session, and binding does not", "[session]") {
  const StaticModule module(recurrent());
  const Session session = module.session(), other = module.session();
  const at::Tensor x = at::ones({4}), out = at::empty({4});
  BoundCall bound = session.bind({x}, {out});
  BoundCall made = session.bind({}, {}, {{"x", x}});
  for (int i = 0; i < 6; ++i) {
    x.add_(0.25);
    const at::Tensor expected = other({x}).toTensor();
    BoundCall& call = i % 3 == 2 ? made : bound;
    call();
    CHECK(at::allclose(call.outputs()[0], expected));
  }
  CHECK(bound.is_replayed());
  session.reset();
  other.reset();
  bound();
  CHECK(at::allclose(out, other({x}).toTensor()));
  CHECK(at::allclose(module({x}).toTensor(), module.session()({x}).toTensor()));
}

}  // namespace sr::test::session_call_tests
