// Random numbers that replays draw, also in branches and loops that data decide about.
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

namespace sr::test::drawn_number_tests {

namespace {

// What a call returns, and what the generator draws next. `result` is None if the call throws.
struct Drawn {
  c10::IValue result;
  at::Tensor next;
};
template <class Call>
Drawn draw(std::uint64_t seed, const Call& call) {
  at::manual_seed(seed);
  Drawn drawn;
  try {
    drawn.result = call();
  } catch (const std::exception&) {
  }
  drawn.next = at::rand({4});
  return drawn;
}

// Compares calls that begin with the same seeds with the interpreter's.
Report check_drawn(const std::string& source, const std::vector<InputSet>& runs, int rounds = 5) {
  torch::jit::Module module = script(source);
  StaticRuntime<> runtime{StaticModule(module)};
  std::uint64_t seed = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const InputSet& inputs : runs) {
      ++seed;
      const Drawn expected = draw(seed, [&] { return interpret(module, copy_inputs(inputs)); });
      const Drawn found = draw(seed, [&] { return runtime(copy_inputs(inputs), {}); });
      INFO(source << " with seed " << seed);
      CHECK(difference(expected.result, found.result, close(1e-5)) == "");
      CHECK(at::equal(expected.next, found.next));
    }
  }
  return runtime.report();
}

}  // namespace

TEST_CASE("a decoder that samples its tokens is replayed", "[replay][blocks]") {
  const std::string source =
      "def forward(self, h, w, e):\n    tokens = [0]\n    token = 0\n    done = False\n"
      "    while not done and len(tokens) < 20:\n        h = torch.tanh(torch.mv(w, h) + e[token])\n"
      "        token = int(torch.multinomial(torch.softmax(h * 2, 0), 1).item())\n"
      "        tokens.append(token)\n        if token == 3:\n            done = True\n    return tokens, h\n";
  const at::Tensor w = sample({9, 9}), e = sample({9, 9}) * 2;
  std::vector<InputSet> runs;
  for (int i = 0; i < 5; ++i) runs.push_back({sample({9}), w, e});
  const Report report = check_drawn(source, runs, 8);
  CAPTURE(report.bailouts);
  CHECK(report.replayed_calls > 25);
  CHECK(block(report, "the body").replayed_runs > 60);
}

TEST_CASE("branches and loops draw numbers and return tensors", "[replay][blocks]") {
  for (const std::string source :
       {"def forward(self, x):\n    y = x * 2\n    i = 0\n    while bool(y.abs().sum() < 30) and i < 9:\n"
        "        y = torch.dropout(y + 1, 0.5, True)\n        i += 1\n    return y + 1, i\n",
        "def forward(self, x):\n    if bool(x.sum() > 0):\n        y = x + torch.rand_like(x)\n    else:\n"
        "        y = x * 3\n    return y + torch.bernoulli(torch.sigmoid(x)), torch.nonzero(y > 1)\n",
        "def forward(self, x):\n    y = torch.rand_like(x)\n    z = x[y > 0.5]\n    return z, z.sum(), "
        "y\n"}) {
    const Report report =
        check_drawn(source, {{sample({6})}, {sample({6}) - 2}, {sample({6}) + 3}, {sample({6})}}, 6);
    INFO(source);
    CAPTURE(report.bailouts);
    CHECK(report.replayed_calls > 8);
  }
}

TEST_CASE("numbers are drawn once when data end a replay", "[replay][blocks]") {
  const std::vector<std::string> sources{
      "def forward(self, x, i):\n    y = torch.rand_like(x)\n    z = torch.index_select(x, 0, i)\n"
      "    return y, z, torch.rand_like(z)\n",
      "def forward(self, x, i):\n    y = x\n    while bool(i.sum() > 0):\n        y = y + "
      "torch.rand_like(y)\n"
      "        y = y + torch.index_select(x, 0, i).sum()\n        i = i - 2\n    return y + "
      "torch.rand_like(y)\n",
      // Sizes differ from call to call, behind a draw.
      "def forward(self, x, i):\n    y = torch.rand_like(x)\n    if bool(i.sum() >= 0):\n"
      "        z = torch.nonzero(i > 2)\n    else:\n        z = torch.nonzero(i > 3)\n"
      "    return y, z * 2, torch.rand_like(y)\n"};
  std::vector<InputSet> runs;
  for (const int last : {2, 1, 3, 7, -1, 4, 0}) runs.push_back({sample({5, 2}), at::tensor({1, 2, last})});
  for (const std::string& source : sources) check_drawn(source, runs, 6);
}

}  // namespace sr::test::drawn_number_tests
