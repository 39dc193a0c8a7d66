// Runtimes of one module record once, and share what they have recorded.
#include <memory>
#include <thread>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::shared_programs_tests {
namespace {

// Models whose programs consist of every kind of step that can be shared.
struct Model {
  const char* name;
  const char* source;
};
const Model kModels[] = {
    {"fused", "def forward(self, x):\n    return torch.sigmoid(x * 2 + 1) * x\n"},
    {"sums of rows", "def forward(self, x):\n    return torch.softmax(x * 3, 1), (x + 1).sum(1)\n"},
    {"products",
     "def forward(self, x):\n    return torch.relu(x @ x.t() + 1), torch.bmm(x[None], x.t()[None])\n"},
    {"views, lists and numbers",
     "def forward(self, x):\n    a, b = x.chunk(2, 1)\n    return [a + 1, b], (x.size(0), x)\n"},
    {"out variants and interpreted nodes",
     "def forward(self, x):\n    v, i = x.sort(1)\n    return torch.cumsum(v, 0), i + 1, "
     "x.nonzero().size(0)\n"},
    {"blocks that data decide about",
     "def forward(self, x):\n    if bool(x.sum() > 0):\n        y = x + 1\n    else:\n        y = x - 1\n    "
     "return y * 2\n"},
    {"literals", "def forward(self, x):\n    t = torch.arange(4)\n    return x + t, t\n"},
    {"structured iterators",
     "def forward(self, x):\n    return torch.lgamma(x), torch.fmod(x.double(), 1.5), torch.add(x.long(), x, "
     "alpha=2)\n"},
    {"iterators with numbers that they take out",
     "def forward(self, x):\n    return torch.pow(x.half(), 3), x.to(15) / 3, torch.logit(x, "
     "0.1)\n"},
    {"iterators of reductions",
     "def forward(self, x):\n    return x.double().sum(1), x.long().prod(0), x.half().t().mean(0), "
     "x.double().argmax(1)\n"},
    {"iterators of conversions and choices",
     "def forward(self, x):\n    c = x.half()\n    return c.t().double(), torch.where(x > 0, x, -x), "
     "torch.logical_and(x.long(), c), torch.floor_divide(x.double(), 3)\n"},
};

TEST_CASE("a second runtime of a module takes what the first has recorded", "[replay][shared]") {
  for (const Model& model : kModels) {
    for (const bool families : {true, false}) {
      INFO(model.name << (families ? ", families" : ""));
      auto reference = script(model.source);
      const StaticModule module(script(model.source), {.debug = {.enable_families = families}});
      StaticRuntime<> first{module}, second{module};
      for (StaticRuntime<>* const runtime : {&first, &second, &first, &second}) {
        for (const std::int64_t rows : {3, 3, 3, 5, 7, 3, 6, 6}) {
          const InputSet inputs{sample({rows, 4})};
          CHECK(difference(interpret(reference, copy_inputs(inputs)), (*runtime)(copy_inputs(inputs), {}),
                           close()) == "");
        }
      }
      CHECK(first.report().copied_plans == 0);
      CHECK(second.report().recorded_plans == 0);
      CHECK(second.report().copied_plans > 0);
      CHECK(second.replayed_calls() > first.replayed_calls());
    }
  }
}

TEST_CASE("many callers record once", "[replay][shared]") {
  const StaticModule module(script(kSmall));
  std::vector<std::unique_ptr<StaticRuntime<>>> runtimes;
  for (int i = 0; i < 8; ++i) runtimes.push_back(std::make_unique<StaticRuntime<>>(module));
  const at::Tensor y = sample({3}), x = sample({4, 3}), expected = small(x, y);
  std::vector<std::thread> threads;
  std::vector<int> wrong(runtimes.size(), 0);
  for (std::size_t i = 0; i < runtimes.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int call = 0; call < 200; ++call)
        wrong[i] += !at::equal((*runtimes[i])(x, y).toTensor(), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t recorded = 0;
  for (std::size_t i = 0; i < runtimes.size(); ++i) {
    CHECK(wrong[i] == 0);
    (*runtimes[i])(x, y);  // its thread may have ended before another recorded
    recorded += runtimes[i]->report().recorded_plans;
    CHECK(plans(*runtimes[i]) == 1);
  }
  CHECK(recorded == 1);
}

TEST_CASE("a recording that throws leaves the signature to others", "[replay][shared]") {
  const StaticModule module(script("def forward(self, x, i):\n    return x.index_select(0, i) * 2\n"));
  StaticRuntime<> first{module}, second{module};
  const at::Tensor x = sample({4, 3}), good = at::tensor({1, 2}), bad = at::tensor({1, 9});
  CHECK_THROWS(first(x, bad));
  CHECK_THROWS(first(x, bad));  // the recording
  for (int call = 0; call < 3; ++call)
    CHECK(at::equal(second(x, good).toTensor(), x.index_select(0, good) * 2));
  CHECK(second.report().recorded_plans == 1);
  CHECK(at::equal(first(x, good).toTensor(), x.index_select(0, good) * 2));
  CHECK(first.report().copied_plans == 1);
}

TEST_CASE("a program that a runtime gives up is offered to no other", "[replay][shared]") {
  const StaticModule module(
      script("def forward(self, x):\n    if bool(x.sum() >= 0):\n        y = x.nonzero()\n"
             "    else:\n        y = (x * 2).nonzero()\n    return y + 1\n"),
      {.debug = {.enable_families = false}});
  StaticRuntime<> first{module}, second{module}, third{module};
  const at::Tensor x = at::tensor({0, 1, 1}), other = at::tensor({1, 1, 1});
  for (int call = 0; call < 3; ++call) first(x);
  CHECK(first.report().recorded_plans == 1);
  second(x);
  CHECK(second.report().copied_plans == 1);
  for (StaticRuntime<>* const runtime : {&first, &second, &third}) {
    for (int call = 0; call < 4; ++call) CHECK(at::equal((*runtime)(other).toTensor(), other.nonzero() + 1));
  }
  CHECK(plans(first) == 0);
  CHECK(plans(second) == 0);
  CHECK(third.report().copied_plans == 0);
}

TEST_CASE("programs hold values of weights, and end with them", "[replay][shared]") {
  const at::Tensor weight = sample({3});
  const StaticModule module(script("def forward(self, x):\n    return x * self.w\n", {{"w", weight}}));
  StaticRuntime<> first{module}, second{module};
  const at::Tensor x = sample({4, 3});
  for (int call = 0; call < 3; ++call) first(x);
  CHECK(at::equal(second(x).toTensor(), x * weight));
  CHECK(second.report().copied_plans == 1);
  weight.mul_(2);
  for (StaticRuntime<>* const runtime : {&first, &second}) {
    // After a change of weights more calls have to come back before one is recorded.
    for (int call = 0; call < 8; ++call) CHECK(at::equal((*runtime)(x).toTensor(), x * weight));
  }
  CHECK(first.report().recorded_plans == 2);
  CHECK(second.report().recorded_plans == 0);
  CHECK(second.report().copied_plans == 2);
}

TEST_CASE("a runtime without room records what comes often, whatever others publish", "[replay][shared]") {
  const at::Tensor y = sample({3});
  const auto call = [&](StaticRuntime<>& runtime, std::int64_t n, int times) {
    const at::Tensor x = sample({n, 3});
    for (int i = 0; i < times; ++i) CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  };
  StaticRuntime<> one{StaticModule(script(kSmall), {.debug = {.enable_families = false}})};
  call(one, 1, 3);
  const std::size_t bytes = one.report().plan_bytes;
  const StaticModule module(
      script(kSmall), {.memory = {.max_plan_bytes = 9 * bytes / 2}, .debug = {.enable_families = false}});
  StaticRuntime<> first{module}, second{module};
  for (const std::int64_t n : {1, 2, 3, 4}) call(second, n, 3);
  for (const std::int64_t n : {5, 6, 7, 8}) call(first, n, 20);
  CHECK(plans(second) == 4);
  const std::uint64_t before = second.report().recorded_plans;
  call(second, 9, 20);
  CHECK(second.report().recorded_plans == before + 1);
  CHECK(plans(second) == 4);
}

TEST_CASE("four programs are published, even if they take more bytes than plans may", "[replay][shared]") {
  const StaticModule module(script(kSmall),
                            {.memory = {.max_plan_bytes = 1}, .debug = {.enable_families = false}});
  StaticRuntime<> first{module}, second{module};
  const at::Tensor y = sample({3});
  for (const std::int64_t n : {1, 2, 3, 4, 5}) {
    for (int call = 0; call < 40; ++call) first(sample({n, 3}), y);
  }
  CHECK(first.report().recorded_plans == 5);
  second(sample({1, 3}), y);
  CHECK(second.report().copied_plans == 0);
  second(sample({2, 3}), y);
  CHECK(second.report().copied_plans == 1);
}

}  // namespace
}  // namespace sr::test::shared_programs_tests
