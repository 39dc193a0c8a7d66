// Lists of tensors that loops and branches append to while data decide.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/block_runs.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::appended_tensor_tests {

namespace {

std::vector<InputSet> runs() {
  std::vector<InputSet> all;
  for (int i = 0; i < 6; ++i) all.push_back({sample({5}), sample({5, 5})});
  all.push_back({at::full({5}, 100.0F), sample({5, 5})});  // no iteration
  return all;
}

// A decoder that ends when a gate opens, or after some steps.
std::string decoder(const std::string& body, const std::string& result) {
  return "def forward(self, h, w):\n    outs: List[Tensor] = []\n    i = 0\n"
         "    while bool(h.abs().sum() < 9.0) and i < 9:\n" +
         body + "        i += 1\n" + result;
}
const std::string kStep = "        h = torch.tanh(torch.mv(w, h)) * (h.abs() * 0.5 + 1.25)\n";

}  // namespace

TEST_CASE("a decoder collects what its steps return", "[replay][blocks]") {
  for (const std::string result :
       {"    if len(outs) == 0:\n        outs.append(h)\n    return torch.stack(outs) * 2, h\n",
        "    return outs, h, len(outs)\n", "    return (outs, [h]), i\n",
        "    if len(outs) > 0:\n        h = torch.cat(outs) + 1\n    return h\n"}) {
    const std::string source = decoder(kStep + "        outs.append(h)\n", result);
    INFO(source);
    const Report report = check(source, runs(), 5, close(1e-4));
    CAPTURE(report.bailouts, report.misses);
    if (result.find("append") == std::string::npos) {
      CHECK(report.replayed_calls > 20);
      CHECK(block(report, "the body").replayed_runs > 40);
    }
  }
}

TEST_CASE("sequences of any length have one plan for what follows", "[replay][blocks]") {
  const std::string source =
      "def forward(self, h, w):\n    outs: List[Tensor] = [ ]\n    go = True\n    while go and len(outs) < "
      "30:\n"
      "        h = torch.tanh(torch.mv(w, h)) + 0.25\n        outs.append(h)\n"
      "        go = bool(h.abs().max() < 0.9)\n"
      "    x = torch.stack(outs)\n    return torch.relu(torch.mm(x, w)).sum(0), x\n";
  const Report report = check_replayed(source, runs(), 5, 20, close(1e-4));
  CHECK(block(report, "what follows").plans.size() <= 2);
}

TEST_CASE("lists hold the tensors that were appended, not copies", "[replay][blocks]") {
  const std::vector<std::string> bodies{
      kStep + "        outs.append(h)\n        outs.append(h)\n",
      // Later writes are seen in the list, in this iteration and in the next one.
      kStep + "        outs.append(h)\n        h.mul_(1.5)\n",
      "        h = h * 1.0\n        outs.append(h)\n        h.add_(w[0])\n        h = h + 1\n        h[0] "
      "= 3\n",
      // What the call was given, or what an iteration was given.
      "        outs.append(h)\n" + kStep, "        outs.append(w)\n" + kStep,
      "        outs.append(h.view(-1))\n" + kStep,
      // In branches, and in a loop.
      kStep +
          "        if bool(h[0] > 0):\n            outs.append(h)\n        else:\n"
          "            outs.append(h * 2)\n            outs.append(w[i % 5])\n        outs.append(h + 1)\n",
      kStep +
          "        j = 0\n        while bool(h[j] > 0) and j < 4:\n            outs.append(h + j)\n"
          "            j += 1\n        outs.append(torch.zeros(2))\n",
      // A list that is asked for its length.
      kStep + "        outs.append(h)\n        if len(outs) == 3:\n            h = h + 100\n"};
  for (const std::string& body : bodies) {
    for (const std::string result : {"    return outs, h\n", "    h.add_(1)\n    return outs\n",
                                     "    return outs[-1] if len(outs) > 0 else h, len(outs)\n"}) {
      const std::string source = decoder(body, result);
      INFO(source);
      check(source, runs(), 4, close(1e-4));
    }
  }
}

TEST_CASE("a loop without a condition is left by break", "[replay][blocks]") {
  const std::string source =
      "def forward(self, h, w):\n    outs: List[Tensor] = []\n    while True:\n"
      "        h = torch.tanh(torch.mv(w, h)) + 0.125\n        outs.append(h)\n"
      "        if bool(h.abs().max() > 0.8):\n            break\n        if len(outs) == 12:\n            "
      "break\n"
      "    return torch.stack(outs, 1) * 2, h\n";
  const Report report = check_replayed(source, runs(), 5, 20, close(1e-4));
  CHECK(block(report, "the body").replayed_runs > 20);
}

TEST_CASE("two lists, and a list that has elements", "[replay][blocks]") {
  check(
      "def forward(self, h, w):\n    a: List[Tensor] = []\n    b: List[Tensor] = []\n    i = 0\n"
      "    while bool(h.sum() < 50) and i < 7:\n        h = h.abs() * 1.5 + 1\n        a.append(h)\n"
      "        b.append(h)\n        b.append(w[0] + h)\n        i += 1\n    return a, b, len(b)\n",
      runs(), 4, close(1e-4));
  check(
      "def forward(self, h, w):\n    a = [h]\n    i = 0\n    while bool(h.sum() < 50) and i < 7:\n"
      "        h = h.abs() * 1.5 + 1\n        a.append(h)\n        i += 1\n    return a, h\n",
      runs(), 4, close(1e-4));
}

TEST_CASE("an exception behind an append leaves the runtime usable", "[replay][blocks]") {
  torch::jit::Module module = script(decoder(
      kStep + "        outs.append(h)\n        h = h + torch.embedding(w, i - (h > 50).long().sum())\n",
      "    return outs, h\n"));
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < 6; ++round) {
    for (const float scale : {0.1F, 1.0F}) {
      const InputSet inputs{sample({5}) * scale, sample({12, 5}).slice(0, 0, 5)};
      std::string expected, actual;
      c10::IValue right, made;
      try {
        right = interpret(module, copy_inputs(inputs));
      } catch (const std::exception&) {
        expected = "threw";
      }
      try {
        made = runtime(copy_inputs(inputs), {});
      } catch (const std::exception&) {
        actual = "threw";
      }
      CHECK(expected == actual);
      if (expected.empty() && actual.empty()) CHECK(difference(right, made, close(1e-5)) == "");
    }
  }
}

TEST_CASE("the oracle finds no difference in appended tensors", "[oracle][blocks]") {
  check_script(decoder(kStep + "        outs.append(h)\n", "    return outs, h\n"), runs(), close(1e-5));
}

}  // namespace sr::test::appended_tensor_tests
