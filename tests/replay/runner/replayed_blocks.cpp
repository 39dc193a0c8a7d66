// Branches and loops that data decide about: each run of a block within a replay is replayed itself.
#include <stop_token>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/block_runs.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::replayed_block_tests {

namespace {

const char* const kUntilSmall =
    "def forward(self, x, w):\n    n = 0\n    while bool(x.norm() > 1.0):\n"
    "        x = torch.tanh(torch.mm(x, w)) * 0.05 + x * 0.5\n        n += 1\n    return x, n\n";
const char* const kBranch =
    "def forward(self, x):\n    if bool(x.sum() > 0):\n        y = torch.relu(x) * 2 + 1\n    else:\n"
    "        y = torch.exp(x) - x\n    return y * 3\n";

}  // namespace

TEST_CASE("the body of a loop that ends by data is recorded once and replayed", "[replay][blocks]") {
  const at::Tensor w = sample({6, 6});
  const Report report = check(kUntilSmall, {{sample({4, 6}) * 5, w}, {sample({4, 6}) * 50, w}});
  CHECK(report.replayed_calls >= 6);
  const BlockReport& body = block(report, "the body");
  REQUIRE(body.plans.size() == 1);
  CHECK(body.plans[0].kernels >= 1);
  CHECK(body.replayed_runs == body.plans[0].replays);
  CHECK(body.replayed_runs >= 6);
}

TEST_CASE("a loop by data may make no step", "[replay][blocks]") {
  const at::Tensor w = sample({6, 6});
  const Report report = check(kUntilSmall, {{sample({4, 6}) * 5, w}, {at::zeros({4, 6}), w}});
  CHECK(report.plans.size() == 1);
}

TEST_CASE("a number that a loop is given and that its body reads follows the call", "[replay][blocks]") {
  std::vector<InputSet> runs;
  for (const int n : {0, 1, 2, 4, 7, 3, 6}) runs.push_back({at::ones({2, 2}), n});
  // The count of both loops; the count and a value that the loop carries; a list that the body appends to.
  check(
      "def forward(self, x, n: int):\n    y = -x\n    for i in range(n % 4):\n        for j in range(n % "
      "4):\n"
      "            y = y * 0.5\n        y = y + x\n    return y\n",
      runs, 3);
  check(
      "def forward(self, x, n: int):\n    y = x * 1\n    k = n % 4\n    for i in range(n % 4):\n"
      "        y = y * 0.5 + k\n        k = k + 1\n    return y, k\n",
      runs, 3);
  check(
      "def forward(self, x, n: int):\n    y = x * 1\n    k = n % 4\n    found = [k]\n"
      "    for i in range(k):\n        if bool(y.sum() > k):\n            found.append(k + i)\n"
      "        y = y * 0.5 + k\n    return y, found\n",
      runs, 3);
}

TEST_CASE("each branch is recorded when it is taken", "[replay][blocks]") {
  const at::Tensor up = at::ones({3, 5}), down = -at::ones({3, 5});
  const Report report = check(kBranch, {{up}, {up}, {up}, {down}, {up}, {down}});
  CHECK(report.plans.size() == 1);
  for (const char* const which : {"the first branch", "the second branch"}) {
    INFO(which);
    CHECK(block(report, which).plans.size() == 1);
    CHECK(block(report, which).plans[0].interpreted == 0);
    CHECK(block(report, which).replayed_runs >= 2);
  }
}

TEST_CASE("results of a block share memory as they do in the interpreter", "[replay][blocks]") {
  const at::Tensor up = at::ones({3, 5}), down = -at::ones({3, 5});
  for (const std::string source :
       {"def forward(self, x):\n    if bool(x.sum() > 0):\n        y = x * 2\n        z = y.t()\n    else:\n"
        "        y = x * 3\n        z = y.t()\n    return y, z\n",
        "def forward(self, x):\n    if bool(x.sum() > 0):\n        y = x * 2\n        z = y.t()\n    else:\n"
        "        y = x * 3\n        z = x.t() + 1\n    return y, z\n",
        "def forward(self, x):\n    if bool(x.sum() > 0):\n        y = x * 2\n        z = y\n    else:\n"
        "        y = x * 3\n        z = x + 1\n    z.add_(1)\n    return y + 1, z\n",
        "def forward(self, x):\n    if bool(x.sum() > 0):\n        y = x * 2\n        z = y[0]\n        w = "
        "x + 1\n"
        "    else:\n        y = x * 3\n        w = x * 5\n        z = w[0]\n    return z, y, w\n"}) {
    INFO(source);
    check(source, {{up}, {down}, {up}, {down}, {down}, {up}}, 5);
  }
}

TEST_CASE("sizes that vary are sizes of a block's family", "[replay][blocks]") {
  std::vector<InputSet> runs;
  for (int n = 2; n < 20; ++n) runs.push_back({at::ones({n, 5}) * (n % 3 == 0 ? -1 : 1)});
  const Report report = check(kBranch, runs);
  CHECK(report.plans.size() <= 2);
  CHECK(block(report, "the first branch").plans.size() <= 2);
}

TEST_CASE("a loop whose iterations a size counts has one plan for all sizes", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x, h):\n    for i in range(x.size(0)):\n        h = torch.tanh(h * 0.5 + x[i])\n"
      "    return h * 2\n";
  std::vector<InputSet> runs;
  for (int n = 2; n < 20; ++n) runs.push_back({sample({n, 3}), sample({3})});
  const Report report = check(source, runs, 2);
  CHECK(report.plans.size() <= 2);
  CHECK(block(report, "the body").replayed_runs > 50);
}

TEST_CASE("a block writes what it has made itself", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x):\n    while bool(x.sum() < 30):\n        y = torch.zeros_like(x)\n"
      "        y[0] = x[1] + 1\n        y[1] = 2\n        parts = [y]\n        parts.append(x.abs())\n"
      "        x = torch.stack(parts).sum(0) + 1\n    return x\n";
  const Report report = check(source, {{sample({4})}, {sample({4}) * 3}});
  CHECK(block(report, "the body").replayed_runs > 4);
}

TEST_CASE("a block appends to lists of numbers from outside", "[replay][blocks]") {
  // Greedy decoding: a token decides the next one, and one of them ends the sequence.
  const std::string greedy =
      "def forward(self, h, w, e):\n    tokens = [0]\n    token = 0\n    done = False\n"
      "    while not done and len(tokens) < 14:\n        h = torch.tanh(torch.mv(w, h) + e[token])\n"
      "        token = int(h.argmax().item())\n        tokens.append(token)\n        if token == 3:\n"
      "            done = True\n    return tokens, h\n";
  const at::Tensor w = sample({9, 9}), e = sample({9, 9}) * 2;
  std::vector<InputSet> runs;
  for (int i = 0; i < 5; ++i) runs.push_back({sample({9}), w, e});
  const Report report = check_replayed(greedy, runs, 6, 20);
  CHECK(block(report, "the body").replayed_runs > 60);
}

TEST_CASE("lists of numbers change in branches, in loops, and by data at the top", "[replay][blocks]") {
  const std::vector<InputSet> runs{{sample({6})}, {sample({6})}, {sample({6}) + 2}, {sample({6}) - 2}};
  for (const std::string source :
       {"def forward(self, x):\n    n = [1, 2]\n    if bool(x.sum() > 0):\n        n.append(3)\n"
        "    else:\n        n.pop()\n    return n, x * len(n)\n",
        "def forward(self, x):\n    n = [1]\n    m = n\n    for i in range(6):\n"
        "        if bool(x[i] > 0):\n            n.append(i)\n            n[0] += 1\n    return n, m, "
        "len(n)\n",
        "def forward(self, x):\n    n = [x.size(0)]\n    n.append(int(x.argmax().item()))\n"
        "    n.append(7)\n    return n, torch.zeros(n[0]) + n[1]\n",
        "def forward(self, x):\n    a = [0.5]\n    flags = [True]\n    i = 0\n"
        "    while bool(x[i] < 1) and i < 5:\n        a.append(float(x[i].item()))\n"
        "        flags.append(a[-1] > a[-2])\n        i += 1\n    return a, flags\n",
        "def forward(self, x):\n    out = [0]\n    while len(out) < 4:\n        inner = [1]\n"
        "        while bool(x.sum() > len(inner) * 2) and len(inner) < 5:\n"
        "            inner.append(len(out))\n        out.append(inner[-1] + len(inner))\n"
        "        x = x + 1\n    return out\n"}) {
    check_replayed(source, runs, 5, 8);
  }
}

TEST_CASE("a list that a block returns is the list that it was given", "[replay][blocks]") {
  for (const std::string source :
       {"def forward(self, x):\n    n = [1, 2]\n    if bool(x.sum() > 0):\n        m = n\n    else:\n"
        "        m = [3]\n    m.append(4)\n    return m, n\n",
        "def forward(self, x):\n    n = [1, 2]\n    m = [x.size(0)]\n    i = 0\n    while bool(x[i] > 0) and "
        "i < 3:\n"
        "        m = n\n        i += 1\n    m.append(i)\n    return m, n, len(n)\n"}) {
    check_replayed(source, {{at::ones({4})}, {-at::ones({4})}, {at::ones({4})}}, 5, 8);
  }
}

TEST_CASE("a call begins again when data end a block that has changed a list", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x, table):\n    n = [0]\n    i = x.long()\n    while bool(i.sum() > 0):\n"
      "        n.append(int(i.sum().item()))\n        y = torch.nonzero(table > i)\n"
      "        n.append(y.size(0))\n        i = i - 1\n    return n\n";
  std::vector<InputSet> runs;
  for (int i = 1; i < 6; ++i) runs.push_back({at::full({1}, i), at::arange(6)});
  check(source, runs, 6);
}

TEST_CASE("what is only returned, and asked for its sizes, may have any", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x):\n    y = torch.nonzero(x)\n    n = y.size(0)\n    z = x[x > 0.5]\n"
      "    return y, n + y.dim(), z, len(z), x * n\n";
  torch::jit::Module module = script(source);
  StaticRuntime<> runtime{StaticModule(module)};
  for (int call = 0; call < 20; ++call) {
    const at::Tensor x = at::relu(sample({6}));
    CHECK(difference(interpret(module, {x}), runtime({x}, {}), {}) == "");
  }
  CHECK(runtime.replayed_calls() == 18);
  CHECK(runtime.report().recorded_plans == 1);
}

TEST_CASE("numbers by data are returned beside tensors that are written in place", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x):\n    y = x * 2\n    n = int((y > 0).sum())\n    z = y.clone()\n    z.mul_(x)\n"
      "    return (z, (n, y), [n])\n";
  const Report report = check(source, {{sample({6})}, {sample({6})}, {sample({6})}});
  CHECK(report.replayed_calls > 6);
  std::vector<InputSet> runs;
  for (int n = 2; n < 9; ++n) runs.push_back({sample({n})});
  check(
      "def forward(self, x):\n    return (int((x > 0).sum()), x.size(0) + 1, (float(x.max()), x.size(0)))\n",
      runs);
}

TEST_CASE("a loop picks what is left until nothing is", "[replay][blocks]") {
  // Non-maximum suppression of intervals.
  const std::string source =
      "def forward(self, begin, end, scores):\n    order = scores.argsort(descending=True)\n    keep = [-1]\n"
      "    while order.numel() > 0:\n        i = order[0]\n        keep.append(int(i.item()))\n"
      "        rest = order[1:]\n        common = torch.minimum(end[i], end[rest]) - torch.maximum(begin[i], "
      "begin[rest])\n"
      "        order = rest[common <= 0.1]\n    return torch.tensor(keep)\n";
  std::vector<InputSet> runs;
  for (int i = 0; i < 4; ++i) {
    const at::Tensor begin = at::rand({30});
    runs.push_back({begin, begin + at::rand({30}) * 0.3, at::rand({30})});
  }
  const Report report = check_replayed(source, runs, 8, 20);
  CHECK(report.decided_blocks.size() == 1);
}

TEST_CASE("numbers that vary become inputs by value", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x):\n    k = 0\n    scale = 1.0\n    flag = True\n"
      "    while bool(x.abs().max() > 0.5) and k < 9:\n"
      "        x = x * 0.5 + scale * 0.01\n        if flag:\n            x = x - 0.001 * k\n"
      "        k += 1\n        scale = scale * 0.5\n        flag = not flag\n    return x, k, scale, flag\n";
  const Report report = check(source, {{sample({7})}, {sample({7}) * 100}, {at::zeros({7})}});
  CHECK(block(report, "the body").plans.size() <= 2);
  CHECK(block(report, "the body").replayed_runs > 4);
}

TEST_CASE("an iteration number that is an index is a size", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x, end):\n    y = torch.zeros_like(x[0])\n    i = 0\n"
      "    while i < x.size(0) and bool(end[i] == 0):\n        y = torch.tanh(y + x[i])\n        i += 1\n"
      "    return y\n";
  at::Tensor end = at::zeros({12}, at::kLong);
  std::vector<InputSet> runs;
  for (const int at : {3, 9, 0, 1, 11}) {
    at::Tensor own = end.clone();
    own[at] = 1;
    runs.push_back({sample({12, 4}), own});
  }
  runs.push_back({sample({12, 4}), end});
  check(source, runs);
}

TEST_CASE("carried values are exchanged, passed on and grow", "[replay][blocks]") {
  const at::Tensor x = sample({3}), y = sample({3});
  check(
      "def forward(self, x, y):\n    while bool(x.sum() < 20):\n        x, y = y, x.abs() + y + 1\n    "
      "return x, y\n",
      {{x, y}, {x * 3, y}, {x + 100, y}});
  check(
      "def forward(self, x, y):\n    while bool(x.sum() < 20):\n        x = torch.cat([x, y.abs() + 1])\n    "
      "return x\n",
      {{x, y}, {x, y * 2}, {x + 100, y}});
  check(
      "def forward(self, x, y):\n    z = x\n    while bool(y.sum() < 20):\n        y = y.abs() + x.abs() + "
      "2\n    return z, y\n",
      {{x, y}, {x * 2, y}});
}

TEST_CASE("blocks within blocks", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x):\n    y = x\n    while bool(y.sum() < 50):\n        z = y + 1\n"
      "        while bool(z.sum() < y.sum() + 9):\n            if bool(z[0] > z[1]):\n"
      "                z = z * 1.25 + 0.5\n            else:\n                z = z.flip(0) + 1\n"
      "        y = z + y.abs()\n    return y\n";
  const Report report =
      check(source, {{at::linspace(-1, 1, 4)}, {at::linspace(1, -1, 4)}, {at::ones({4}) * 40}});
  CHECK(report.decided_blocks.size() == 4);
}

TEST_CASE("an exception in an iteration leaves the runtime usable", "[replay][blocks]") {
  const std::string source =
      "def forward(self, x, table):\n    i = x.long()\n    y = table[0]\n"
      "    while bool(i.sum() > 0):\n        y = y + torch.embedding(table, i)\n        i = i - 1\n    "
      "return y\n";
  StaticRuntime<> runtime{StaticModule(script(source))};
  torch::jit::Module module = script(source);
  const at::Tensor table = sample({6, 4});
  for (int round = 0; round < 4; ++round) {
    for (const float first : {3.0F, 5.0F}) {
      const InputSet inputs{at::full({1}, first), table};
      CHECK(difference(interpret(module, inputs), runtime(InputSet(inputs), {}), {}) == "");
    }
    CHECK_THROWS(runtime(InputSet{at::full({1}, 9.0F), table}, {}));
  }
}

TEST_CASE("a cancelled loop ends, and the next call is right", "[replay][blocks]") {
  torch::jit::Module module = script(kUntilSmall);
  const StaticModule prepared(module);
  StaticRuntime<> runtime{prepared};
  const at::Tensor x = sample({4, 6}) * 5, w = sample({6, 6});
  for (int run = 0; run < 4; ++run) runtime(x, w);
  std::stop_source source;
  source.request_stop();
  CallOptions options;
  options.stop = source.get_token();
  CHECK_THROWS_AS(runtime(InputSet{x, w}, {}, options), CancelledError);
  CHECK(difference(interpret(module, {x, w}), runtime(InputSet{x, w}, {}), close()) == "");
}

TEST_CASE("blocks are recorded anew when weights change", "[replay][blocks]") {
  torch::jit::Module module = script(
      "def forward(self, x):\n    while bool(x.norm() > 1.0):\n        x = torch.tanh(torch.mm(x, self.w)) * "
      "0.05 + x * 0.5\n"
      "    return x\n",
      {{"w", sample({6, 6})}});
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < 3; ++round) {
    for (int run = 0; run < 4; ++run) {
      const InputSet inputs{sample({4, 6}) * 9};
      CHECK(difference(interpret(module, inputs), runtime(InputSet(inputs), {}), close()) == "");
    }
    module.attr("w").toTensor().mul_(0.9);
  }
}

TEST_CASE("another runtime takes copies of the blocks' plans", "[replay][blocks]") {
  torch::jit::Module module = script(kBranch);
  const StaticModule prepared(module);
  StaticRuntime<> first{prepared}, second{prepared};
  const at::Tensor x = at::ones({3, 5});
  for (int run = 0; run < 5; ++run) first(x);
  const auto result = second(x);
  CHECK(difference(interpret(module, {x}), result, close()) == "");
  CHECK(second.report().decided_blocks.at(0).replayed_runs == 1);
}

TEST_CASE("the oracle finds no difference in branches and loops by data", "[oracle][blocks]") {
  const at::Tensor w = sample({6, 6});
  check_script(kUntilSmall, {{sample({4, 6}) * 5, w}, {sample({4, 6}) * 50, w}, {at::zeros({4, 6}), w}},
               close());
  check_script(kBranch, {{at::ones({3, 5})}, {-at::ones({3, 5})}, {at::ones({4})}}, close());
}

}  // namespace sr::test::replayed_block_tests
