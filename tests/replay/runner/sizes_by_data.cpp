// Tests that nodes with data-dependent sizes are replayed as a separate call.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/block_runs.hpp"
#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::sizes_by_data_tests {

namespace {

std::string prepared(const std::string& source) {
  return StaticModule(script(source)).graph().toString(/*print_source_locations=*/false);
}
bool is_split(const std::string& source) {
  return prepared(source).find("continues=1") != std::string::npos;
}

// Vectors of `n` zeros and ones, with every number of ones.
std::vector<InputSet> flags(std::int64_t n) {
  std::vector<InputSet> runs;
  for (std::int64_t ones = 0; ones <= n; ++ones)
    runs.push_back({at::cat({at::ones({ones}), at::zeros({n - ones})}).index_select(0, at::randperm(n)),
                    sample({n, 3})});
  return runs;
}

}  // namespace

TEST_CASE("what follows nonzero, a mask or repeats has few plans for all counts", "[replay][sizes]") {
  for (const std::string source :
       {"def forward(self, x, w):\n    i = torch.nonzero(x)[:, 0]\n    y = w[i] * 2 + 1\n"
        "    return torch.tanh(y.sum(0)), torch.relu(torch.mm(y, y.t()))\n",
        "def forward(self, x, w):\n    y = w[x > 0.5]\n    return y * 2 + 1, y.size(0)\n",
        "def forward(self, x, w):\n    y = torch.masked_select(w, (x > 0.5)[:, None])\n    return y.view(-1, "
        "3).exp()\n",
        "def forward(self, x, w):\n    y = torch.repeat_interleave(w, x.long() + 1, 0)\n    return "
        "torch.tanh(y * 2)\n",
        "def forward(self, x, w):\n    n = int(x.sum().item())\n    y = torch.arange(n).expand(2, n) * 1.0\n"
        "    return y + 1, w * n\n",
        "def forward(self, x, w):\n    n = int(x.sum().item())\n    return (w[n:] * 2).sum(0), "
        "w[:n].relu()\n"}) {
    INFO(source);
    CHECK(is_split(source));
    const Report report = check(source, flags(12), 3);
    CAPTURE(report.bailouts);
    CHECK(report.recorded_plans == 1);
    CHECK(report.replayed_calls == 13 * 3 - 2);
    const BlockReport& rest = block(report, "what follows");
    CHECK(rest.plans.size() <= 5);  // none, one, all and others
    CHECK(rest.replayed_runs > 20);
  }
}

TEST_CASE("sizes of a padding mask are those of the longest sequence", "[replay][sizes]") {
  const std::string source =
      "def forward(self, x, lengths):\n    n = int(lengths.max().item())\n"
      "    mask = torch.arange(n)[None].expand(x.size(0), n) >= lengths[:, None]\n"
      "    return torch.tanh(x.masked_fill(mask[:, :, None], 0.0) * 2), mask\n";
  std::vector<InputSet> runs;
  for (int n = 2; n < 24; ++n) {
    at::Tensor lengths = at::randint(1, n + 1, {4}, at::kLong);
    lengths[n % 4] = n;
    runs.push_back({sample({4, n, 5}), lengths});
  }
  const Report report = check(source, runs, 2);
  CAPTURE(report.bailouts);
  CHECK(report.replayed_calls >= 40);
  CHECK(block(report, "what follows").plans.size() <= 2);
}

TEST_CASE("sizes by data follow one another", "[replay][sizes]") {
  const std::string source =
      "def forward(self, x, w):\n    y = w[x > 0.5] * 2\n    z = y[y.sum(1) > 0]\n"
      "    n = int(z.abs().sum().item()) % 4\n    return z * 3, torch.zeros(n) + 1, (y + 1, [n])\n";
  CHECK(is_split(source));
  const Report report = check(source, flags(9), 4);
  CAPTURE(report.bailouts);
  CHECK(report.replayed_calls == 10 * 4 - 2);
  CHECK(report.decided_blocks.size() >= 2);
}

TEST_CASE("graphs that only return or ask for sizes by data stay whole", "[passes][sizes]") {
  for (const std::string source :
       {"def forward(self, x, z):\n    y = torch.nonzero(x)\n    return y, y.size(0), x * 2\n",
        "def forward(self, x, z):\n    t = int(x.argmax().item())\n    return x[t] * 2\n",
        "def forward(self, x, z):\n    return x[z] * 2\n",
        "def forward(self, x, z):\n    y = x[x > 0.5] + 1\n    return y, z.view(-1)\n"}) {
    INFO(source);
    check_script(source, {{at::rand({4}), at::zeros({3}, at::kLong)}}, close());
  }
  // What follows would be no call: it draws, or returns its argument.
  for (const std::string source :
       {"def forward(self, x, z):\n    y = x[x > 0.5]\n    return torch.rand_like(y)\n",
        "def forward(self, x, z):\n    y = x[x > 0.5] + 1\n    return y, z.view(-1)\n"})
    CHECK_FALSE(is_split(source));
}

TEST_CASE("errors of what follows are the interpreter's", "[replay][sizes]") {
  torch::jit::Module module =
      script("def forward(self, x, w):\n    y = w[x > 0.5]\n    return torch.mm(y, y) + y.view(2, 2)\n");
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < 5; ++round) {
    const InputSet right{at::tensor({1.0F, 0.0F, 1.0F}), sample({3, 2})};
    CHECK(difference(interpret(module, right), runtime(InputSet(right), {}), close()) == "");
    CHECK_THROWS(runtime(InputSet{at::tensor({1.0F, 1.0F, 1.0F}), sample({3, 2})}, {}));
  }
}

TEST_CASE("what follows may write what the call has made", "[replay][sizes]") {
  const std::string source =
      "def forward(self, x, w):\n    out = torch.zeros(2, 3)\n    y = w[x > 0.5] * 2\n    out[0] = y.sum(0)\n"
      "    out.add_(1)\n    return out, {'y': y}\n";
  check_replayed(source, flags(6), 4, 20);
}

TEST_CASE("the oracle finds no difference in sizes by data", "[oracle][sizes]") {
  const std::string source =
      "def forward(self, x, w):\n    i = torch.nonzero(x)[:, 0]\n    return torch.relu(w[i] * 2).sum(0), i\n";
  check_script(source, flags(5), close());
}

}  // namespace sr::test::sizes_by_data_tests
