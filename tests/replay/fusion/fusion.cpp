// Sequences of pointwise operators over iteration spaces of every length: whole and partial registers, blocks
// and tiles.
#include <limits>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::fusion_tests {

namespace {

// No more lengths than there may be plans.
constexpr std::int64_t kLengths[2][8] = {{0, 1, 3, 16, 17, 32, 63, 64},
                                         {65, 128, 130, 200, 1000, 1024, 1025, 3000}};

// Each length is used three times in a row, so the third call is replayed.
std::vector<InputSet> vectors(const std::int64_t (&lengths)[8]) {
  std::vector<InputSet> runs;
  for (const std::int64_t n : lengths) {
    for (int i = 0; i < 3; ++i) runs.push_back({sample({n}), sample({n})});
  }
  return runs;
}

}  // namespace

TEST_CASE("fusion: chains of every kind of operand", "[replay][ops]") {
  const std::vector<std::string> bodies = {
      "return torch.leaky_relu(torch.leaky_relu(torch.leaky_relu(x, 0.1), 0.2), 0.3)",
      // the previous value as first, second or both operands; numbers on either side
      "a = x + y\n    b = y - a\n    c = b * b\n    d = 2 - c\n    return d / 3",
      // a value that is read again later, and returned
      "a = x * y\n    b = torch.relu(a)\n    c = b + a\n    d = torch.tanh(c)\n    return d * a, b",
      // three operands
      "a = torch.clamp(x + 1, -0.5, 0.5)\n    return torch.add(a, y, alpha=2) - torch.sub(y, a, alpha=3)",
      "a = x * 2\n    return torch.addcmul(a, y, x), torch.where(x > 0, a, y)",
      // two chains in one space; one value is read twice
      "a = torch.exp(x)\n    b = torch.exp(y)\n    return (a + 1) / (b + 1) + a.maximum(b)",
      "a = torch.sigmoid(x)\n    b = a * x\n    c = torch.silu(b)\n    return c + b - "
      "y.neg().abs()",
  };
  for (const std::string& body : bodies) {
    CAPTURE(body);
    for (const auto& lengths : kLengths)
      check_script("def forward(self, x, y):\n    " + body + "\n", vectors(lengths), close(1e-5));
  }
}

TEST_CASE("fusion: chains over matrices, broadcast, transposed and joined", "[replay][ops]") {
  std::vector<InputSet> runs;
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 50}, {20, 50}, {20, 64}, {3, 7}, {70, 33}, {2, 1500}, {1030, 2}}) {
    for (int i = 0; i < 3; ++i) {
      runs.push_back(
          {sample({rows, columns}), sample({columns}), sample({rows, 1}), sample({columns, rows}).t()});
    }
  }
  for (const std::string body :
       {"return torch.clamp((x + row) * column, 0, 10)",
        "a = torch.relu((x - row) * 2)\n    return torch.cat([column, a, torch.exp(a) + t], 1)",
        "a = x * t\n    b = (a + row) * (a - column)\n    return b.t(), a",
        "a = torch.tanh(x + t)\n    return torch.stack([a, a * row, torch.abs(a) * 2], 1)"}) {
    CAPTURE(body);
    check_script("def forward(self, x, row, column, t):\n    " + std::string(body) + "\n", runs, close(1e-5));
  }
}

TEST_CASE("fusion: the relu of a sum or product is one vector op with it, unless the sum is read again",
          "[replay][ops]") {
  OracleOptions often = close();
  often.rounds = 4;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor odd = at::tensor({-1.0, -0.0, 0.0, nan, 3.5, -nan, 1e30, -1e30, 1e-42}, at::kFloat);
  for (const std::string expression :
       {"torch.relu(x * y) + 1", "torch.relu(x + y) * x", "torch.relu(x * 2).sigmoid()",
        "torch.relu(torch.relu(x * y) * torch.relu(x + y))", "torch.relu(1 + x) * torch.relu(-2 * x)"}) {
    for (const at::Tensor& x : {odd, odd.unsqueeze(1), sample({3, 200})}) {
      check_script("def forward(self, x, y):\n    return " + expression + "\n",
                   {{x, x.flip(0)}, {-x, x}, {x, x.clone()}}, often);
    }
  }
  for (const std::string body :
       {"z = x * y\n    return torch.relu(z) + z", "z = x * y\n    return torch.relu(z), z",
        "z = x + y\n    w = torch.relu(z)\n    return w * 2, torch.softmax(z, -1)",
        "z = x + y\n    w = torch.relu(z) * x\n    return w - z"}) {
    check_script("def forward(self, x, y):\n    " + body + "\n",
                 {{sample({5, 70}), sample({5, 70})}, {sample({4}), sample({4})}}, often);
  }
}

TEST_CASE("fusion: relu of a product is done by the product", "[replay][ops]") {
  const auto kernels_of = [](const std::string& body) {
    const std::string source = "def forward(self, x, y):\n    " + body + "\n";
    check_script(source, {{sample({5, 8}), sample({8, 40})}, {sample({1, 8}), sample({8, 3})}}, close(1e-5));
    sr::StaticRuntime<> runtime{sr::StaticModule(script(source))};
    for (int run = 0; run < 3; ++run) runtime(sample({5, 8}), sample({8, 40}));
    REQUIRE(runtime.report().plans.size() == 1);
    return runtime.report().plans[0].kernels;
  };
  CHECK(kernels_of("return torch.relu(torch.mm(x, y))") == 1);
  CHECK(kernels_of("return torch.relu(torch.mm(x, y).t())") == 1);
  CHECK(kernels_of("a = torch.relu(torch.mm(x, y))\n    return torch.cat([a, a + 1])") >= 2);
  // values that are read by other operators, or in part
  CHECK(kernels_of("a = torch.mm(x, y)\n    return torch.relu(a), a") == 2);
  CHECK(kernels_of("a = torch.mm(x, y)\n    return torch.relu(a[:, 1:])") == 2);
  CHECK(kernels_of("a = torch.cat([torch.mm(x, y), torch.mm(x, y * 2)])\n    return torch.relu(a)") >= 3);
  CHECK(kernels_of("return torch.relu(torch.matmul(x.unsqueeze(0).expand(3, -1, -1), y))") >= 1);
}

TEST_CASE("fusion: sums, softmax and norms of rows join the step that makes the rows", "[replay][ops]") {
  std::vector<InputSet> runs;
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 8}, {5, 8}, {300, 8}, {7, 33}, {3, 1024}, {2, 1500}, {40, 100}}) {
    for (int i = 0; i < 3; ++i)
      runs.push_back({sample({2, rows, columns}), sample({columns}), sample({2, rows, columns})});
  }
  struct Body {
    std::string text;
    std::size_t kernels;
  };
  for (const Body& body : std::vector<Body>{
           {"return torch.softmax(x * 2 + row, -1)", 1},
           {"return torch.log_softmax(x * y, 2)", 1},
           {"return torch.sum(x * y, [-1])", 1},
           {"return torch.mean(x * y - row, [1, 2])", 1},
           {"return torch.amax(x + y, [-1], keepdim=True), torch.amin(x + y, [2])", 1},
           {"a = x + y\n    return torch.layer_norm(a, [x.size(2)], row, row), a", 1},
           {"a = torch.relu(x)\n    return torch.layer_norm(a, [x.size(2)], row, None), torch.sum(a, [1, 2])",
            1},
           {"return torch.rms_norm(x + y, [x.size(2)], row, 1e-5)", 1},
           {"return torch.norm(x - y, 2, -1)", 1},
           // a reduction of a step's rows starts another step
           {"a = x - y\n    return a / torch.sum(a * a, [-1], keepdim=True)", 2},
           {"a = torch.softmax(x * y, -1)\n    return a * y, torch.sum(a, [0])", 3},
           // another dimension than the last, another order, partial reads, and a value that is made before
           // or later
           {"return torch.sum(x * y, [1])", 2},
           {"return torch.sum((x * y).transpose(0, 1), [2])", 3},
           {"return torch.sum((x * y)[:, :, 1:], [2])", 2},
           {"b = torch.sum(x, [0, 1])\n    return torch.layer_norm(x + y, [x.size(2)], b, row)", 2},
           {"a = x + y\n    b = torch.sum(x, [0, 1])\n    return torch.layer_norm(a, [x.size(2)], b, row)",
            3},
       }) {
    CAPTURE(body.text);
    const std::string source = "def forward(self, x, row, y):\n    " + body.text + "\n";
    for (std::size_t i = 0; i < runs.size(); i += 12) {
      check_script(
          source,
          std::vector<InputSet>(runs.begin() + static_cast<std::ptrdiff_t>(i),
                                runs.begin() + static_cast<std::ptrdiff_t>(std::min(i + 12, runs.size()))),
          close());
    }
    sr::StaticRuntime<> runtime{sr::StaticModule(script(source))};
    for (int run = 0; run < 3; ++run) runtime(sample({2, 5, 16}), sample({16}), sample({2, 5, 16}));
    REQUIRE(runtime.report().plans.size() == 1);
    CHECK(runtime.report().plans[0].kernels == body.kernels);
    CHECK(runtime.report().plans[0].interpreted == 0);
  }
}

TEST_CASE("fusion: an operand that is one element for all of a tile", "[replay][ops]") {
  std::vector<InputSet> runs;
  for (const std::int64_t width : {3, 1024, 1500, 3136}) {
    for (int i = 0; i < 3; ++i)
      runs.push_back({sample({2, 5, width}), sample({5, 1}), sample({2, 1, 1}), sample({5, 1}, at::kBool)});
  }
  for (const std::string body :
       {"return x * a + b", "return (x - b) * a + torch.exp(a) * b", "return a - b + x * 0, (a * b - x) / a",
        "return torch.where(m, x, a * 2), x.masked_fill(m, 3.0) + b"}) {
    CAPTURE(body);
    check_script("def forward(self, x, a, b, m):\n    " + body + "\n", runs, close());
  }
}

}  // namespace sr::test::fusion_tests
