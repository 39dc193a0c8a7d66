// Numbers that a step reads from tensors within a replay.
#include <limits>
#include <string>
#include <vector>

#include "support/block_runs.hpp"
#include "support/catch.hpp"
#include "support/samples.hpp"

namespace sr::test::number_step_tests {

namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

// Inputs of that dtype whose numbers differ, so that no plan may hold one of them.
std::vector<InputSet> numbers(at::ScalarType dtype) {
  std::vector<InputSet> runs;
  for (const double number : {0.0, 1.0, 3.0, 100.0, -2.0}) {
    if (dtype == at::kByte && number < 0) continue;
    runs.push_back({at::full({2, 3}, number, at::kDouble).to(dtype)});
  }
  if (at::isFloatingType(dtype)) runs.push_back({at::full({2, 3}, kNaN, dtype)});
  return runs;
}

std::string returning(const std::string& expression) {
  return "def forward(self, x):\n    y = x + x\n    n = " + expression + "\n    return y, n\n";
}

}  // namespace

TEST_CASE("a step reads numbers of every dtype as the interpreter converts them", "[replay][ops]") {
  for (const at::ScalarType dtype : {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong,
                                     at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    CAPTURE(dtype);
    for (const char* const expression :
         {"bool(x[1, 2])", "float(x[1, 2])", "x[1, 2].item()", "bool(x[:1, 1:2])"}) {
      const Report report = check_replayed(returning(expression), numbers(dtype), 4, 8);
      CHECK(report.plans[0].interpreted == 0);
    }
    if (at::isFloatingType(dtype)) continue;
    const Report report = check_replayed(returning("int(x[1, 2])"), numbers(dtype), 4, 8);
    CHECK(report.plans[0].interpreted == 0);
  }
}

TEST_CASE("what LibTorch checks of a number is left to it", "[replay][ops]") {
  // A real number as an integer may be out of range.
  Report report =
      check_replayed(returning("int(x[1, 2])"), {{at::full({2, 3}, 2.5)}, {at::full({2, 3}, -7.9)}}, 4, 4);
  CHECK(report.plans[0].interpreted == 1);
  report = check_replayed(
      returning("bool(x[1, 2])"),
      {{at::complex(at::zeros({2, 3}), at::ones({2, 3}))}, {at::zeros({2, 3}, at::kComplexFloat)}}, 4, 4);
  CHECK(report.plans[0].interpreted == 1);
  // The sizes of x vary between calls, so that it may have another number of elements.
  torch::jit::Module module = script("def forward(self, x):\n    return (x * 2).item() + 1\n");
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < 4; ++round) {
    CHECK(runtime({at::full({1}, 3.0)}).toDouble() == 7);
    CHECK_THROWS(runtime({at::ones({2})}));
    CHECK_THROWS(runtime({at::ones({0})}));
  }
}

TEST_CASE("a number is read before its tensor is written", "[replay][ops]") {
  check_replayed(
      "def forward(self, x):\n    y = x * 2\n    n = y[0].item()\n    y.add_(1)\n    m = float(y[0])\n"
      "    return y, n, m\n",
      {{at::arange(3.0)}, {at::arange(3.0) + 5}}, 4, 4);
}

TEST_CASE("the body of a loop that ends by data calls no operator of LibTorch", "[replay][blocks]") {
  const Report report = check_replayed(
      "def forward(self, x):\n    while bool(x[0, 0] < 100):\n        x = x * 1.5 + 1\n    return x\n",
      {{at::zeros({1, 8})}, {at::full({1, 8}, 30.0)}, {at::full({1, 8}, 300.0)}}, 4, 5);
  CHECK(block(report, "the body").plans[0].interpreted == 0);
}

TEST_CASE("operators on numbers that depend on data are steps", "[replay][blocks]") {
  const InputSet three{at::zeros({1, 8}), at::tensor(3)}, five{at::zeros({1, 8}), at::tensor(5)};
  const Report counted = check_replayed(
      "def forward(self, x, n):\n    i = 0\n    while i < int(n):\n"
      "        x = x * 1.5 + 1\n        i += 1\n    return x, i\n",
      {three, five, {at::zeros({1, 8}), at::tensor(0)}, {at::full({1, 8}, 49.0), at::tensor(9)}}, 4, 5);
  CHECK(block(counted, "the body").plans[0].interpreted == 0);
  // Every pair of types, Scalars among them, and a number that follows the sizes.
  for (const char* const expression :
       {"a // 2 - a % 3", "float(a) / 3.0", "a * 1.5 + b", "b ** 2.0", "not (a < b)", "a == b or a != 3",
        "min(a, 4)", "max(b, float(a))", "x[0, 1].item() * 2", "x[0, 1].item() < n.item()", "-a",
        "a * x.size(0) + x.size(1)", "a if a > 3 else 2", "int(b) & a", "(b + 1.0) ** 0.5"}) {
    CAPTURE(expression);
    std::vector<InputSet> runs;
    for (const std::int64_t rows : {1, 2, 3}) runs.push_back({at::rand({rows, 8}), at::tensor(rows + 2)});
    check_replayed(
        "def forward(self, x, n):\n    a = int(n)\n    b = float(x[0, 0])\n    y = x + x\n    return y, " +
            std::string(expression) + "\n",
        runs, 4, 4);
  }
}

TEST_CASE("a replay throws what an operator on numbers throws", "[replay][errors]") {
  torch::jit::Module module =
      script("def forward(self, x, n):\n    y = x * 2\n    return y, 7 // int(n), 0.5 ** float(n)\n");
  StaticRuntime<> runtime{StaticModule(module)};
  for (int round = 0; round < 4; ++round) {
    CHECK_THROWS_WITH(runtime({at::ones({2}), at::tensor(0)}), Catch::Matchers::Contains("division by 0"));
    const auto elements = runtime({at::ones({2}), at::tensor(2)}).toTupleRef().elements().vec();
    CHECK(elements[1].toInt() == 3);
    CHECK(elements[2].toDouble() == 0.25);
  }
}

}  // namespace sr::test::number_step_tests
