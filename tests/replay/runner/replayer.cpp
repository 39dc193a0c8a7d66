// Replay as its users see it: when plans are made, how long they are valid, and how they end.
#include <thread>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::replay_tests {

TEST_CASE("a signature is recorded when it comes back, and replayed from then on", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  for (int run = 0; run < 5; ++run) {
    CHECK(at::equal(runtime(x + run, y).toTensor(), small(x + run, y)));
    CHECK(plans(runtime) == (run == 0 ? 0 : 1));
    CHECK(runtime.replayed_calls() == static_cast<std::uint64_t>(std::max(0, run - 1)));
  }
  const Report report = runtime.report();
  CHECK(report.plans[0].arguments == "Float[4, 3], Float[3]");
  CHECK(report.plans[0].kernels == 1);
  CHECK(report.plans[0].interpreted == 0);
}

TEST_CASE("signatures that never come back make no plan", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall), {.debug = {.enable_families = false}})};
  for (int n = 1; n < 40; ++n) runtime(sample({n, 3}), sample({3}));
  CHECK(plans(runtime) == 0);
  CHECK(runtime.replayed_calls() == 0);
}

TEST_CASE("reserve makes the plan at once, trim frees the memory of the runtime", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  runtime.reserve({x, y});
  CHECK(plans(runtime) == 1);
  CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  CHECK(runtime.replayed_calls() == 1);
  runtime.trim();
  CHECK(plans(runtime) == 0);
  // The module still has it.
  CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  CHECK(runtime.replayed_calls() == 2);
  CHECK(runtime.report().recorded_plans == 1);
  CHECK(runtime.report().copied_plans == 1);
}

TEST_CASE("plans take no more bytes than asked for; the one used least lately goes", "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(script(kSmall), {.memory = {.max_plan_bytes = 1}, .debug = {.enable_families = false}})};
  const at::Tensor y = sample({3});
  const auto call = [&](std::int64_t n) {
    const at::Tensor x = sample({n, 3});
    CHECK(at::equal(runtime(x, y).toTensor(), small(x, y)));
  };
  for (const std::int64_t n : {1, 1, 2, 2, 3, 3, 4, 4, 1, 5, 5, 5}) call(n);
  CHECK(plans(runtime) == 4);
  std::vector<std::string> arguments;
  for (const PlanReport& plan : runtime.report().plans) arguments.push_back(plan.arguments);
  CHECK(std::count(arguments.begin(), arguments.end(), "Float[2, 3], Float[3]") == 0);
  CHECK(std::count(arguments.begin(), arguments.end(), "Float[1, 3], Float[3]") == 1);
  CHECK(std::count(arguments.begin(), arguments.end(), "Float[5, 3], Float[3]") == 1);
}

TEST_CASE("alternating between more signatures than there is room for does not record each time",
          "[replay]") {
  StaticRuntime<> runtime{
      StaticModule(script(kSmall), {.memory = {.max_plan_bytes = 1}, .debug = {.enable_families = false}})};
  const at::Tensor y = sample({3});
  for (int round = 0; round < 60; ++round) {
    for (const std::int64_t n : {1, 2, 3, 4, 5}) runtime(sample({n, 3}), y);
  }
  // If every returning signature were recorded, none would ever be replayed.
  CHECK(runtime.replayed_calls() > 90);
  REQUIRE(runtime.report().bailouts.size() == 1);
  CHECK(runtime.report().bailouts[0].find("Plans may take 1 bytes") != std::string::npos);
  runtime.trim();
  CHECK(runtime.report().bailouts.empty());
}

TEST_CASE("replayed_calls counts replayed calls only", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(kSmall))};
  const at::Tensor x = sample({4, 3}), y = sample({3});
  for (int run = 0; run < 3; ++run) runtime(x, y);
  CHECK(runtime.replayed_calls() == 1);
  runtime.run_into({x, y}, {x});  // into an argument: replayed, then copied
  CHECK(runtime.replayed_calls() == 2);
  CHECK(runtime.report().plans[0].replays == 2);
}

TEST_CASE("calls that cannot be replayed say why", "[replay]") {
  const auto refusal = [](const std::string& source) {
    StaticRuntime<> runtime{StaticModule(script(source))};
    const at::Tensor x = sample({3, 3});
    for (int run = 0; run < 3; ++run) runtime(x.clone());
    CHECK(runtime.replayed_calls() == 0);
    const Report report = runtime.report();
    return report.bailouts.empty() ? std::string() : report.bailouts[0];
  };
  CHECK(refusal("def forward(self, x):\n    y = x + 1\n    y.t_()\n    return y * 2\n").find("shape") !=
        std::string::npos);
  CHECK(refusal("def forward(self, x):\n    print(x.size(0))\n    return x * 2\n").find("effect") !=
        std::string::npos);
}

TEST_CASE("a model that assigns in a fork says from the start that none of its calls are replayed",
          "[replay]") {
  const StaticModule module(script(
      "def body(self, x):\n    self.w = self.w + x\n    return x * 2\n"
      "def forward(self, x):\n    future = fork(self.body, x)\n    return torch.wait(future) + self.w\n",
      {{"w", sample({3})}}));
  StaticRuntime<> runtime{module};
  const auto refused = [&] {
    const Report report = runtime.report();
    return report.bailouts.size() == 1 && says(report, "changes an attribute or a constant (prim::SetAttr)");
  };
  CHECK(refused());
  for (int run = 0; run < 4; ++run) runtime(sample({3}));
  CHECK(runtime.replayed_calls() == 0);
  CHECK(refused());
  runtime.trim();
  CHECK(refused());
}

TEST_CASE("a call may change a new list that it makes from a constant list", "[replay]") {
  for (const char* const shape :
       {"[1] * x.dim()", "x.dim() * [1]", "[1] + [1]", "[1, 1, 1][1:]", "list([1, 1])"}) {
    CAPTURE(shape);
    StaticRuntime<> runtime{StaticModule(script(std::string("def forward(self, x):\n    shape = ") + shape +
                                                "\n    shape[1] = -1\n    return x * "
                                                "torch.arange(x.size(1)).view(shape)\n"))};
    const at::Tensor x = sample({3, 4});
    for (int run = 0; run < 4; ++run) CHECK(at::equal(runtime(x).toTensor(), x * at::arange(4)));
    CHECK(runtime.replayed_calls() > 0);
  }
  // The inner list is the attribute's.
  torch::jit::Module module = script(
      "def forward(self, x):\n    both = self.lists + self.lists\n    both[0].append(1)\n    return x + "
      "len(self.lists[0])\n",
      {{"lists", c10::List<c10::List<std::int64_t>>({c10::List<std::int64_t>({1})})}});
  StaticRuntime<> runtime{StaticModule(module)};
  for (int run = 2; run < 6; ++run) CHECK(runtime(at::zeros({})).toTensor().item<int>() == run);
  CHECK(runtime.replayed_calls() == 0);
}

TEST_CASE("a signature that bails out repeatedly does not affect others", "[replay]") {
  StaticRuntime<> runtime{StaticModule(
      script("def forward(self, x, flag: bool):\n    if flag:\n        print(x.size(0))\n    return x * "
             "2\n"))};
  const at::Tensor x = sample({4, 3});
  for (int time = 0; time < 5; ++time) runtime.reserve({x, true});
  for (int run = 0; run < 3; ++run) CHECK(at::equal(runtime(x, false).toTensor(), x * 2));
  CHECK(runtime.replayed_calls() == 1);
}

TEST_CASE("calls that make sparse tensors are not recorded", "[replay]") {
  for (const std::string number : {"1", "2"}) {  // of sparse_coo and sparse_csr
    StaticRuntime<> runtime{StaticModule(script(
        "def forward(self, x):\n    return torch.zeros([2, 3], layout=" + number + ").to_dense() + x\n"))};
    const at::Tensor x = sample({2, 3});
    for (int run = 0; run < 4; ++run) CHECK(at::equal(runtime(x).toTensor(), x));
    CHECK(says(runtime.report(), "sparse"));
    StaticRuntime<> with_weight{
        StaticModule(script("def forward(self, x):\n    return torch.mv(self.w, x)\n",
                            {{"w", number == "2" ? at::eye(3).to_sparse_csr() : at::eye(3).to_sparse()}}))};
    const at::Tensor row = sample({3});
    for (int run = 0; run < 4; ++run) CHECK(at::allclose(with_weight(row).toTensor(), row));
  }
}

TEST_CASE("no plan computes with values that calls of another signature change", "[replay][traps]") {
  const at::Tensor weight = sample({3});
  const std::string change = GENERATE(as<std::string>(), "self.w.mul_(0.5)", "self.w = self.w * 0.5");
  torch::jit::Module module =
      script("def forward(self, x, n: int):\n    y = x * (torch.abs(self.w) + 1)\n    if n > 2:\n        " +
                 change + "\n    return y\n",
             {{"w", weight.clone()}});
  torch::jit::Module reference = module.deepcopy();
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({4, 3});
  for (const int n : {1, 1, 1, 3, 1, 3, 3, 1}) {
    INFO("n = " << n);
    CHECK(at::allclose(runtime(x, n).toTensor(), reference.forward({x, n}).toTensor()));
  }
}

TEST_CASE("a list of weights that grows is no change of the weights", "[replay]") {
  StaticRuntime<> runtime{StaticModule(script(
      "def forward(self, x):\n    parts = [self.w]\n    parts.append(x)\n    return torch.cat(parts)\n",
      {{"w", sample({3})}}))};
  const at::Tensor x = sample({3});
  for (int run = 0; run < 4; ++run) runtime(x);
  CHECK(runtime.replayed_calls() != 0);
}

TEST_CASE("one module replays on many threads", "[replay][modules]") {
  const StaticModule module(
      script("def forward(self, x):\n    return torch.tanh(x @ self.w).sum(1)\n", {{"w", sample({16, 8})}}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      StaticRuntime<> runtime(module);
      const at::Tensor x = at::full({t + 1, 16}, 0.1 * (t + 1));
      const at::Tensor expected = runtime(x).toTensor();
      for (int run = 0; run < 300; ++run) {
        if (!at::allclose(runtime(x).toTensor(), expected, 1e-5, 1e-6)) ++wrong;
        if (!at::allclose(module({x}).toTensor(), expected, 1e-5, 1e-6)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace sr::test::replay_tests
