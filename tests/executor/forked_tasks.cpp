// prim::fork and aten::wait: bodies of forks are tasks.
#include <ATen/core/ivalue.h>

#include <sr/memory/standard_resizing.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/child.hpp"
#include "support/ir.hpp"
#include "support/launchers.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::forks_tests {

namespace {

// The interpreter's own thread may hold the arguments of a forked body a little longer.
const OracleOptions kForked{.use_counts = false};

const std::string kBranches =
    "def body(self, a, b):\n    return torch.relu(a * b) + 1\n"
    "def forward(self, x):\n    f = fork(self.body, x * 2, x + 3)\n    e = torch.exp(x)\n"
    "    return torch.wait(f) + e\n";

std::vector<InputSet> samples() {
  return {
      {sample({2, 3})}, {sample({4, 5})}, {sample({2, 3})}, {sample({0, 3})}, {sample({2, 3}, at::kDouble)}};
}

// f(0) is x + 1, and f(i) forks f(i - 1) and adds 1.
std::string nested(int depth) {
  std::string source = "def f0(self, x):\n    return x + 1\n";
  for (int i = 1; i <= depth; ++i) {
    source += "def f" + std::to_string(i) + "(self, x):\n    return torch.wait(fork(self.f" +
              std::to_string(i - 1) + ", x)) + 1\n";
  }
  return source + "def forward(self, x):\n    return torch.wait(fork(self.f" + std::to_string(depth) +
         ", x))\n";
}

CallOptions on(torch::jit::TaskLauncher launcher) {
  CallOptions options;
  options.launcher = std::move(launcher);
  return options;
}

}  // namespace

TEST_CASE("forks in a loop, in a branch, in a fork, and in containers", "[oracle][forks]") {
  check_script(
      "def body(self, x, i: int):\n    return torch.sigmoid(x) * i\n"
      "def forward(self, x, n: int):\n    futures = [fork(self.body, x, 0)]\n    for i in range(n):\n"
      "        futures.append(fork(self.body, x + i, i))\n    total = x * 0\n    for f in futures:\n"
      "        total = total + torch.wait(f)\n    return total\n",
      {{sample({2, 3}), 3}, {sample({4}), 0}, {sample({2, 3}), 7}, {sample({2, 3}), 3}}, kForked);
  check_script(
      "def body(self, x):\n    return torch.tanh(x) + 1\n"
      "def forward(self, x, flag: bool):\n    a = x * 2\n    if flag:\n        r = "
      "torch.wait(fork(self.body, a))\n"
      "    else:\n        r = a.t()\n    return r + 1\n",
      {{sample({3, 3}), true}, {sample({3, 3}), false}, {sample({2, 2}), true}, {sample({3, 3}), true}},
      kForked);
  check_script(
      "def inner(self, x):\n    return x * x\n"
      "def outer(self, x):\n    f = fork(self.inner, x + 1)\n    g = fork(self.inner, x - 1)\n"
      "    return torch.wait(f), torch.wait(g)\n"
      "def forward(self, x):\n    f = fork(self.outer, x)\n    pair = (f, x * 3)\n    a, b = "
      "torch.wait(pair[0])\n"
      "    return a + b + pair[1]\n",
      samples(), kForked);
}

TEST_CASE("a forked body that writes its inputs", "[oracle][forks][traps]") {
  check_script(
      "def body(self, a):\n    a.add_(1)\n    return a * 2\n"
      "def forward(self, x):\n    a = x * 2\n    b = torch.wait(fork(self.body, a))\n    return a + b, a\n",
      samples(), kForked);
  check_script(
      "def body(self, a: List[Tensor]):\n    a.append(a[0] + 1)\n    return len(a)\n"
      "def forward(self, x):\n    a = [x * 2]\n    n = torch.wait(fork(self.body, a))\n    return a[n - 1] * "
      "n\n",
      samples(), kForked);
}

TEST_CASE("a forked body with weights, and one that returns a weight", "[oracle][forks]") {
  const at::Tensor w = sample({3, 3});
  check_model(script("def body(self, x):\n    return torch.mm(x, self.w) + 1\n"
                     "def forward(self, x):\n    f = fork(self.body, x)\n"
                     "    return torch.wait(f) * 2, torch.mm(x, self.w)\n",
                     {{"w", w}}),
              {{sample({2, 3})}, {sample({5, 3})}, {sample({2, 3})}}, kForked);
  check_model(script("def body(self, x):\n    return self.w\n"
                     "def forward(self, x):\n    f = fork(self.body, x)\n    return torch.wait(f) * x\n",
                     {{"w", sample({3})}}),
              {{sample({2, 3})}, {sample({1, 3})}}, kForked);
}

TEST_CASE("bodies run on the launcher of the call", "[forks]") {
  const torch::jit::Module module = script(kBranches);
  StaticModuleOptions exact;
  exact.numerics = Numerics::exact;
  StaticRuntime<memory::StandardResizing> runtime{StaticModule(module, exact)};
  const at::Tensor x = sample({3, 4});
  const at::Tensor expected = torch::jit::Module(module).forward({x}).toTensor();
  Held held;
  for (std::size_t i = 1; i <= 4; ++i) {
    // The launcher runs nothing: the waiting thread runs the body.
    CHECK(at::equal(runtime({x}, {}, on(held.launcher())).toTensor(), expected));
    CHECK(held.size() == i);
  }
  held.run_all();
  OneThread thread;
  for (int i = 0; i < 50; ++i) {
    CHECK(at::equal(runtime.run_async({x}, {}, thread.launcher())->value().toTensor(), expected));
  }
}

TEST_CASE("a hundred nested forks end on one thread", "[forks]") {
  StaticRuntime<> runtime{StaticModule(script(nested(100)))};
  const at::Tensor x = at::zeros({2});
  OneThread thread;
  for (int i = 0; i < 20; ++i) {
    CHECK(runtime({x}, {}, on(thread.launcher())).toTensor()[0].item<float>() == 101);
    CHECK(runtime({x}).toTensor()[1].item<float>() == 101);
  }
  // The call itself is also a task of the thread that its forks need.
  CallOptions inside = on(thread.launcher());
  inside.on_launcher = true;
  const auto future = runtime.run_async({x}, {}, inside);
  future->wait();
  CHECK(future->value().toTensor()[0].item<float>() == 101);
}

TEST_CASE("an exception in a forked body reaches the wait, and the runtime stays usable", "[forks][errors]") {
  StaticRuntime<> runtime{
      StaticModule(script("def inner(self, a, b):\n    return torch.mm(a, b)\n"
                          "def body(self, a, b):\n    return torch.wait(fork(self.inner, a, b)) + 1\n"
                          "def forward(self, x, y):\n    f = fork(self.body, x, y)\n    z = x * 2\n    "
                          "return torch.wait(f) + z\n"))};
  const at::Tensor good = at::ones({2, 2}), bad = at::ones({3, 2});
  OneThread thread;
  for (int i = 0; i < 5; ++i) {
    CHECK(runtime({good, good}).toTensor()[0][0].item<float>() == 5);
    CHECK_THROWS_WITH(runtime({good, bad}), Catch::Matchers::Contains("aten::mm"));
    CHECK_THROWS_AS(runtime({good, bad}, {}, on(thread.launcher())), c10::Error);
    const auto future = runtime.run_async({good, bad}, {}, thread.launcher());
    CHECK(future->hasError());
  }
  CHECK(good.use_count() == 1);
}

TEST_CASE("a forked body without a wait outlives runtime and module", "[forks]") {
  Held held;
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    StaticRuntime<> runtime{
        StaticModule(script("def body(self, a):\n    return torch.mm(a, self.w) + 1\n"
                            "def forward(self, x):\n    f = fork(self.body, x * 2)\n    return f\n",
                            {{"w", at::eye(3)}}))};
    for (int i = 0; i < 4; ++i) future = runtime({at::ones({3, 3})}, {}, on(held.launcher())).toFuture();
  }
  CHECK_FALSE(future->completed());
  held.run_all();
  REQUIRE(future->completed());
  CHECK(at::equal(future->value().toTensor(), at::full({3, 3}, 3.0)));
}

TEST_CASE("a launcher that throws", "[forks][errors]") {
  StaticRuntime<> runtime{StaticModule(script(kBranches))};
  const at::Tensor x = sample({2, 3});
  const CallOptions refuses = on([](const std::function<void()>&) { throw std::runtime_error("full"); });
  for (int i = 0; i < 4; ++i) {
    CHECK_THROWS_WITH(runtime({x}, {}, refuses), "full");
    CHECK(x.use_count() == 1);
    CHECK_NOTHROW(runtime(x));
  }
}

TEST_CASE("futures as results, also in containers", "[forks]") {
  StaticRuntime<> runtime{StaticModule(
      script("def body(self, a):\n    return a + 1\n"
             "def forward(self, x):\n    f = fork(self.body, x * 2)\n    return [f, f], (f, x)\n"))};
  for (int i = 0; i < 4; ++i) {
    const auto result = runtime({at::ones({2}) * i}).toTupleRef().elements().vec();
    const auto first = result[0].toList().get(0).toFuture();
    first->wait();
    CHECK(first->value().toTensor()[0].item<int>() == 2 * i + 1);
    CHECK(result[1].toTupleRef().elements()[0].toFuture() == first);
  }
}

TEST_CASE("the report says how a forked body is run", "[forks]") {
  const StaticModule module(script(kBranches));
  const Report report = StaticRuntime<>(module).report();
  const auto fork = std::ranges::find_if(
      report.nodes, [](const NodeReport& node) { return node.text.find("prim::fork") != std::string::npos; });
  REQUIRE(fork != report.nodes.end());
  CHECK(fork->path == NodeKind::native);
  CHECK(fork->why == "its body is a task, run on separate runtimes.");
  CHECK(report.fallbacks == 0);
}

TEST_CASE("a child of fork() starts new threads for tasks, and so does its child", "[forks]") {
  torch::jit::Module model = script(kBranches);
  const StaticModule module(model);
  const at::Tensor x = sample({2, 3});
  const at::Tensor right = interpret(model, {x}).toTensor();
  const auto is_right = [&] {
    CallOptions options;
    options.on_launcher = true;
    StaticRuntime<> runtime(module);
    bool all = true;
    for (int call = 0; call < 20; ++call) {
      const auto future = runtime.run_async({x}, {}, options);
      future->waitAndThrow();
      all = all && at::allclose(future->value().toTensor(), right) &&
            at::allclose(runtime(x).toTensor(), right);
    }
    return all;
  };
  CHECK(is_right());
  CHECK(succeeds_in_child([&] { return is_right() && succeeds_in_child(is_right); }));
  CHECK(is_right());
}

}  // namespace sr::test::forks_tests
