// What a report says about the steps of a plan.
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/static_runtime.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/samples.hpp"

namespace sr::test::plan_report_tests {

namespace {

using Names = std::vector<std::string>;

PlanReport plan_of(const torch::jit::Module& module, const at::Tensor& x) {
  StaticRuntime<> runtime{StaticModule(module)};
  for (int run = 0; run < 3; ++run) runtime(x);
  const Report report = runtime.report();
  REQUIRE(report.plans.size() == 1);
  return report.plans[0];
}

Names places(const std::vector<OperandReport>& operands) {
  Names names;
  for (const OperandReport& operand : operands) names.push_back(operand.place);
  return names;
}

}  // namespace

TEST_CASE("a report names each step of a plan, what is fused into it and where it reads and writes",
          "[replay]") {
  torch::jit::Module module = script(
      "def forward(self, x):\n    y = torch.relu(torch.linear(x, self.w, self.b))\n"
      "    z = torch.softmax(torch.sigmoid(y) * 2, -1)\n    return torch.linear(z, self.w)\n",
      {{"w", at::randn({8, 8})}, {"b", at::randn({8})}});
  const PlanReport plan = plan_of(module, sample({4, 8}));
  REQUIRE(plan.steps.size() == 3);
  CHECK(plan.steps[0].kind == "packed gemm");
  CHECK(plan.steps[0].ops == Names{"aten::linear", "aten::relu"});
  CHECK(places(plan.steps[0].reads)[0] == "argument 0");
  CHECK(plan.steps[0].reads[0].bytes == 4 * 8 * sizeof(float));
  CHECK(places(plan.steps[0].writes) == Names{"arena"});
  CHECK(plan.steps[1].kind == "fused");
  CHECK(plan.steps[1].ops == Names{"aten::sigmoid", "aten::mul.Scalar", "aten::softmax.int"});
  CHECK(places(plan.steps[1].reads) == Names{"arena"});
  CHECK(plan.steps[1].reads[0].offset == plan.steps[0].writes[0].offset);
  CHECK(places(plan.steps[2].writes) == Names{"result 0"});
  CHECK(plan.steps[2].writes[0].bytes == 4 * 8 * sizeof(float));
  CHECK(plan.memory.requests.size() == 2);
}

TEST_CASE("steps that are not kernels of ours are named as well", "[replay]") {
  const PlanReport plan = plan_of(
      script("def forward(self, x):\n    n = torch.nonzero(x > 0)\n    return torch.cumsum(x, 0) + 1, n\n"),
      sample({6}).abs() + 1);
  Names kinds;
  for (const StepReport& step : plan.steps) {
    kinds.push_back(step.kind);
    CHECK_FALSE(step.ops.empty());
  }
  CHECK(std::count(kinds.begin(), kinds.end(), "interpreted") == 1);
  CHECK(std::count(kinds.begin(), kinds.end(), "fused") == 2);
  CHECK(kinds.size() == 4);
}

}  // namespace sr::test::plan_report_tests
