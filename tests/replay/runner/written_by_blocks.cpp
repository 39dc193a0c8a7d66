// Branches and loops that data decide about, and that write tensors from outside of them.
#include <string>
#include <utility>
#include <vector>

#include <sr/sr.hpp>

#include "support/block_runs.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::written_by_block_tests {

TEST_CASE("a loop fills a cache that the call has made, and ends early", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x, w, most):\n    cache = torch.zeros(9, 4)\n    i = 0\n    done = False\n"
      "    while not done and i < 9:\n        x = torch.tanh(torch.mv(w, x) + cache.sum(0) * 0.1)\n"
      "        cache[i] = x\n        i += 1\n        if bool(x.sum() > most):\n            done = True\n"
      "    return cache, x, i\n";
  std::vector<InputSet> runs;
  for (const double most : {0.3, 2.0, 9.0, -9.0})
    runs.push_back({sample({4}), sample({4, 4}), at::scalar_tensor(most)});
  const Report report = check_replayed(source, runs, 6, 20);
  CHECK(block(report, "the body").replayed_runs > 60);
}

TEST_CASE("LibTorch refuses a block's write to operands that overlap, also within a replay",
          "[replay][blocks]") {
  struct Case {
    std::string write;
    bool is_refused;
  };
  for (const Case& each :
       {Case{"y.transpose(0, 1).mul_(y.squeeze(1))", true}, Case{"y[1:].add_(y[:-1])", true},
        Case{"y[1:].add_(z)", true}, Case{"y[:2].add_(y[2:4])", false},
        Case{"y.mul_(y.view(5, 1, 5))", false}, Case{"y[:2].add_(z[2:])", false}}) {
    CAPTURE(each.write);
    torch::jit::Module module = script(
        "def forward(self, x, m):\n    y = x * 2\n    z = y[:-1]\n    if bool(m.sum() > 0):\n        " +
        each.write + "\n    return y + 1, y\n");
    StaticRuntime<> runtime{StaticModule(module)};
    const at::Tensor x = at::randn({5, 1, 5}), taken = at::ones({2}), not_taken = -taken;
    for (int round = 0; round < 6; ++round) {
      for (const at::Tensor& m : {not_taken, taken}) {
        if (each.is_refused && m.is_same(taken)) {
          CHECK_THROWS_WITH(runtime({x, m}), Catch::Matchers::Contains("single memory location"));
          continue;
        }
        CHECK(difference(interpret(module, copy_inputs({x, m})), runtime({x, m}), close(1e-6)) == "");
      }
    }
    CHECK(runtime.report().replayed_calls >= 3);
  }
}

TEST_CASE("blocks write tensors from outside, views of them, and what a loop carries", "[replay][blocks]") {
  const std::vector<InputSet> runs{{sample({4})}, {sample({4}) * 3}, {sample({4}) + 40}, {sample({4}) - 1}};
  for (const std::string source :
       {"def forward(self, x):\n    y = x * 2\n    while bool(y.sum() < 30):\n        y.add_(1)\n"
        "    return y + 1\n",
        "def forward(self, x):\n    y = x * 2\n    z = y.view(-1)\n    while bool(y.sum() < 30):\n"
        "        z[0] += 1\n    return y + 1, z\n",
        "def forward(self, x):\n    y = x * 2\n    z = y + 1\n    if bool(x.sum() > 0):\n"
        "        y[1:].mul_(3)\n    else:\n        y.zero_()\n    y.relu_()\n    return y, z + y\n",
        // Written before, between and after blocks.
        "def forward(self, x):\n    y = torch.ones(4)\n    y.add_(x)\n    if bool(y.sum() > 0):\n"
        "        y[0] = y[1]\n    y.mul_(2)\n    if bool(y[0] > 0):\n        y.sub_(x)\n"
        "    y += 1\n    return y\n",
        // A branch chooses what is written.
        "def forward(self, x):\n    y = x + 1\n    z = x * 2\n    i = 0\n    while bool(y.sum() < 30) and i "
        "< 9:\n"
        "        t = y if bool(y.sum() > z.sum()) else z\n        t.add_(2)\n        i += 1\n"
        "    return y, z, i\n",
        // The loop carries the tensor, which is another one after the first iteration.
        "def forward(self, x):\n    y = x.clone()\n    first = y\n    while bool(y.sum() < 30):\n"
        "        y.add_(1)\n        y = y * 1.5 + 1\n    return first, y\n",
        // Blocks within blocks.
        "def forward(self, x):\n    y = x * 2\n    n = torch.zeros(2)\n    while bool(y.sum() < 30):\n"
        "        if bool(y[0] > y[1]):\n            y[1] += 3\n            n[0] += 1\n"
        "        else:\n            y[0] += 2\n            n[1] += 1\n    return y, n\n",
        // A constant that is written.
        "def forward(self, x):\n    y = torch.arange(4) * 1.0\n    if bool(x.sum() > 0):\n        y += x\n"
        "    return y\n",
        // A list of numbers as well.
        "def forward(self, x):\n    n = [0]\n    y = x * 2\n    while bool(y.sum() < 30):\n        "
        "y.add_(1)\n"
        "        n.append(int(y.sum()))\n    return y, n\n"}) {
    check_replayed(source, runs, 5, 10);
  }
}

TEST_CASE("blocks write arguments", "[replay][blocks]") {
  torch::jit::Module module = script(
      "def forward(self, x, y):\n    i = 0\n    while bool(x.sum() < 30):\n        x.add_(1)\n        y[0] = "
      "x[i]\n"
      "        i += 1\n    return i\n");
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < 6; ++round) {
    for (const int scale : {1, 2}) {
      InputSet inputs{sample({9}) * scale, sample({3})};
      InputSet expected = copy_inputs(inputs);
      CHECK(difference(interpret(module, expected), runtime(InputSet(inputs), {}), close()) == "");
      CHECK(difference(expected[0], inputs[0], close()) == "");
      CHECK(difference(expected[1], inputs[1], close()) == "");
    }
    InputSet failing{sample({2}), sample({3})};
    CHECK_THROWS(runtime(InputSet(failing), {}));
  }
  CHECK(runtime.replayed_calls() > 8);
}

TEST_CASE("what a block has written is undone when data end its replay", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x, table):\n    y = x * 1.0\n    n = torch.zeros(3)\n    while bool(y.sum() > 0):\n"
      "        y.sub_(1)\n        n[1:].add_(y.sum())\n        z = torch.nonzero(table > y) * 2\n"
      "        n[0] += z.sum()\n    return y, n\n";
  std::vector<InputSet> runs;
  for (int i = 1; i < 6; ++i) runs.push_back({at::full({1}, i), at::arange(6)});
  check_replayed(source, runs, 8, 10);
}

TEST_CASE("a loop exchanges what it writes", "[replay][blocks]") {
  // Which result is which decide data: such calls are not replayed.
  check(
      "def forward(self, x):\n    a = x + 1\n    b = x + 2\n    while bool(a.sum() < 30):\n"
      "        a.add_(b.abs() + 1)\n        a, b = b, a\n    return a, b\n",
      {{sample({4})}, {sample({4}) * 3}}, 4);
}

TEST_CASE("a loop writes a part of memory that it reads elsewhere", "[replay][blocks]") {
  check(
      "def forward(self, x):\n    y = x * 2\n    a = y[:3]\n    b = y[1:]\n    while bool(y.sum() < 30):\n"
      "        a.add_(b.abs().sum())\n    return y, a, b\n",
      {{sample({4})}, {sample({4}) * 3}}, 6);
}

TEST_CASE("a block that changes the sizes of a tensor from outside is no part of a plan",
          "[replay][blocks]") {
  const Report report = check(
      "def forward(self, x):\n    y = torch.outer(x, x[:2])\n    if bool(x.sum() > 0):\n        y.t_()\n"
      "    return y + 1\n",
      {{sample({4})}, {sample({4}) * 3}});
  CHECK(says(report, "changes a list, a dictionary or the sizes of a tensor from outside of it"));
}

TEST_CASE("the oracle finds no difference in what blocks write", "[oracle][blocks]") {
  check_script(
      "def forward(self, x):\n    y = x * 2\n    while bool(y.sum() < 30):\n        y[0] += y[1].abs() + 1\n"
      "    return y\n",
      {{sample({4})}, {sample({5}) * 3}, {sample({4}) + 40}}, close());
}

}  // namespace sr::test::written_by_block_tests
