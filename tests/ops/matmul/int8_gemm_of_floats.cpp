// int8 products whose step also quantizes the left operand. Results are bit-identical to the interpreter's.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_int8_products_of_floats_tests {

namespace {

// Dtypes by number: 1 is int8, 4 int64, 6 float32.
const std::string kScale = R"(
    largest = torch.maximum(torch.amax(x, [-1], True), -torch.amin(x, [-1], True))
    scale = torch.clamp(largest / 127., min=1e-12)
)";
const std::string kScaleOfTorchao = R"(
    lowest, highest = torch.amin(x, [-1], True), torch.amax(x, [-1], True)
    below, above = torch.clamp(lowest, max=0), torch.clamp(highest, min=0)
    scale = torch.clamp(torch.maximum(-below, above) / 127.5, min=1.1920928955078125e-07)
    zero = torch.full_like(scale, 0).to(4)
)";
const std::string kSteps = "    steps = torch.clamp(torch.round(x * (1.0 / scale)), -127, 127).to(1)\n";
const std::string kStepsOfTorchao =
    "    steps = torch.clamp(torch.round(x * (1.0 / scale)) + zero, -128, 127).to(1)\n";
const std::string kResult =
    "    return torch._int_mm(steps.view(-1, self.w.size(0)), self.w).to(6) * scale.view(-1, 1) * self.s + "
    "self.b\n";

torch::jit::Module model(const std::string& body, std::int64_t n, std::int64_t k) {
  return script(
      "def forward(self, x):" + body,
      {{"w", at::randint(-127, 128, {k, n}, at::kChar)}, {"s", at::rand({n})}, {"b", at::randn({n})}});
}

// A row of zeros, ill numbers, ties and large ones.
at::Tensor extremes(std::int64_t k) {
  at::Tensor x = at::randn({7, k});
  x[0].fill_(0);
  x[1].fill_(-0.0);
  x[2][0] = std::numeric_limits<float>::quiet_NaN();
  x[3][k - 1] = std::numeric_limits<float>::infinity();
  x[4] *= 1e-42;
  x[5] *= 1e37;
  x[6].copy_(at::arange(k) + 0.5);
  return x;
}

std::vector<std::string> kinds_of(const torch::jit::Module& module, const at::Tensor& x) {
  StaticRuntime<> runtime{StaticModule(module)};
  for (int run = 0; run < 3; ++run) runtime(x);
  REQUIRE(runtime.replayed_calls() == 1);
  std::vector<std::string> kinds;
  const Report report = runtime.report();
  for (const StepReport& step : report.plans.at(0).steps) kinds.push_back(step.kind);
  return kinds;
}

const std::vector<std::string> kWhole{kScale + kSteps + kResult, kScaleOfTorchao + kStepsOfTorchao + kResult};

}  // namespace

TEST_CASE("int8 products that quantize their left operand equal the interpreter's", "[oracle][ops][replay]") {
  at::manual_seed(47);
  for (const std::string& body : kWhole) {
    for (const std::int64_t k : {1, 8, 40, 67}) {
      const torch::jit::Module module = model(body, 24, k);
      CAPTURE(body, k);
      check_model(module, {{at::randn({3, k})}, {at::randn({1, k})}, {at::randn({20, k})}, {extremes(k)}},
                  {.rounds = 3});
      check_model(module, {{at::randn({2, 3, k})}, {at::randn({4, 2 * k}).narrow(1, 1, k)}}, {.rounds = 3});
      if (k > 1) check_model(module, {{at::randn({k, 5}).t()}}, {.rounds = 3});
    }
  }
}

TEST_CASE("quantization, int8 product and scaling are one step", "[ops][replay]") {
  const std::vector<std::string> expected{"packed int8 gemm of floats"};
  for (const std::string& body : kWhole) {
    CAPTURE(body);
    CHECK(kinds_of(model(body, 24, 40), at::randn({5, 40})) == expected);
    CHECK(kinds_of(model(body, 24, 40), at::randn({2, 5, 40})) == expected);
    CHECK(kinds_of(model(body, 24, 40), at::randn({5, 80}).narrow(1, 0, 40)) == expected);
  }
}

TEST_CASE("a product does not quantize its operand if the integers have other readers or another formula",
          "[oracle][ops][replay]") {
  at::manual_seed(48);
  const auto with = [](std::string body, const std::string& from, const std::string& to) {
    const std::size_t at = body.find(from);
    REQUIRE(at != std::string::npos);
    return body.replace(at, from.size(), to);
  };
  const std::string whole = kScale + kSteps + kResult, product = kResult.substr(0, kResult.size() - 1);
  for (const std::string& body : {
           kScale + kSteps + product + ", steps\n",
           kScale + kSteps + product + ", scale\n",
           kScale + kSteps + product + " + torch._int_mm(steps.view(-1, self.w.size(0)), self.w)\n",
           kScale + kSteps + "    x.add_(1)\n" + kResult,
           kScale + "    scale.add_(1)\n" + kSteps + kResult,
           kScale + kSteps + "    scale.add_(1)\n" + kResult,
           kScale + kSteps + "    steps.add_(1)\n" + kResult,
           with(whole, "torch.amax(x, [-1], True)", "torch.amax(x, [0], True)"),
           with(whole, "torch.amin(x, [-1], True)", "torch.amin(x + 1, [-1], True)"),
           with(whole, "largest / 127.", "largest / self.b[0]"),
           with(whole, "min=1e-12", "min=1e-12, max=0.01"),
           with(whole, "-127, 127", "-300, 300"),
           with(whole, "-127, 127", "-2.5, 2.5"),
           with(whole, "1.0 / scale", "2.0 / scale"),
           with(whole, "torch.round(x * (1.0 / scale))", "torch.round(x * (1.0 / scale), decimals=1)"),
           with(whole, "torch.round(x * (1.0 / scale))", "torch.round(x / scale)"),
           with(kScaleOfTorchao + kStepsOfTorchao + kResult, "full_like(scale, 0)", "full_like(scale, 1)"),
           with(kScaleOfTorchao + kStepsOfTorchao + kResult, "max=0)", "max=1)"),
       }) {
    const torch::jit::Module module = model(body, 24, 40);
    CAPTURE(body);
    check_model(module, {{at::randn({5, 40})}, {at::randn({1, 40})}}, {.rounds = 3});
  }
  CHECK(kinds_of(model(kScale + kSteps + product + ", steps\n", 24, 40), at::randn({5, 40})).size() > 1);
}

}  // namespace sr::test::ops_int8_products_of_floats_tests
