// Products of 8-bit integers with constant weights, and what scales their sums: one step with the
// interpreter's bits.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_int8_products_tests {

namespace {

at::Tensor bytes(at::IntArrayRef sizes, at::ScalarType dtype = at::kChar) {
  return at::randint(dtype == at::kByte ? 0 : -128, dtype == at::kByte ? 256 : 128, sizes, dtype);
}

// w: k x n, t: n x k.
torch::jit::Module with_weights(const std::string& body, std::int64_t n, std::int64_t k) {
  return script("def forward(self, x, r):\n    " + body + "\n", {{"w", bytes({k, n})},
                                                                 {"t", bytes({n, k})},
                                                                 {"s", at::rand({n})},
                                                                 {"b", at::randn({n})},
                                                                 {"column", at::randn({n, 1})}});
}

PlanReport plan_of(const torch::jit::Module& module, const InputSet& inputs,
                   Numerics numerics = Numerics::fast) {
  StaticModuleOptions options;
  options.numerics = numerics;
  StaticRuntime<> runtime{StaticModule(module, options)};
  for (int run = 0; run < 3; ++run) runtime(std::vector<c10::IValue>(inputs));
  REQUIRE(runtime.replayed_calls() == 1);
  return runtime.report().plans.at(0);
}

// Dtypes by number: 6 is float32, 7 float64.
const char* const kWhole =
    "y = torch._int_mm(x, self.t.t()).to(6) * r * self.s\n    return torch.relu(y.view(1, -1, "
    "y.size(1)) + "
    "self.b)";

}  // namespace

TEST_CASE("products of 8-bit integers equal the interpreter's", "[oracle][ops][replay]") {
  at::manual_seed(41);
  for (const std::string& body : {
           std::string("return torch._int_mm(x, self.w)"),
           std::string("return torch._int_mm(x, self.t.t()) + 1"),
           std::string("return torch._int_mm(x, self.w).to(6)"),
           std::string("return torch._int_mm(x, self.w).to(6) * r"),
           std::string("return r * torch._int_mm(x, self.w).to(6) * self.s + self.b"),
           std::string("return self.s * torch._int_mm(x, self.w).to(6) * r + self.b"),
           std::string("return torch._int_mm(x, self.w).to(6) * 2.0 * self.s - self.b"),
           std::string("return torch.relu(torch._int_mm(x, self.w).to(6)) * self.s"),
           std::string("y = torch._int_mm(x, self.w).to(6)\n    return y * r, y"),
           std::string("y = torch._int_mm(x, self.w)\n    return y.to(6) * self.s, y"),
           std::string("y = torch._int_mm(x, self.w).to(6)\n    return y * y.sum(1, keepdim=True)"),
           std::string("return torch._int_mm(x, self.w).to(7) * r"),
           std::string(kWhole),
       }) {
    for (const auto& [n, k] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 8}, {24, 8}, {33, 40}, {8, 3}}) {
      const torch::jit::Module module = with_weights(body, n, k);
      CAPTURE(body, n, k);
      check_model(module, {{bytes({3, k}), at::randn({3, 1})}, {bytes({1, k}), at::randn({1, 1})}},
                  {.rounds = 3});
      check_model(
          module,
          {{bytes({20, k}), at::randn({20, 1})}, {bytes({20, 2 * k}).narrow(1, 1, k), at::randn({1, 1})}},
          {.rounds = 3});
    }
  }
}

TEST_CASE("what scales the sums of 8-bit products is a part of their step", "[ops][replay]") {
  const torch::jit::Module module = with_weights(kWhole, 24, 40);
  for (const Numerics numerics : {Numerics::fast, Numerics::exact}) {
    const PlanReport plan = plan_of(module, {bytes({5, 40}), at::randn({5, 1})}, numerics);
    REQUIRE(plan.steps.size() == 1);
    CHECK(plan.steps[0].kind == "packed int8 gemm");
  }
  // Not what another step makes later, or reads as well.
  const auto steps = [](const std::string& body) {
    return plan_of(with_weights(body, 24, 40), {bytes({5, 40}), at::randn({5, 1})}).steps.size();
  };
  CHECK(steps("y = torch._int_mm(x, self.w).to(6)\n    return y * y.sum(1, keepdim=True)") >= 2);
  CHECK(steps("y = torch._int_mm(x, self.w).to(6)\n    return y * r, y") == 2);
  CHECK(steps("return torch._int_mm(x, self.w).to(6) * self.column.t()") == 1);
}

TEST_CASE("products of floats and weights in 8 bits read the weights as they are", "[oracle][ops][replay]") {
  at::manual_seed(43);
  for (const std::string body :
       {"return torch.mm(x, self.w.to(6)) * self.s + self.b", "return torch.linear(x, self.t.to(6), self.b)",
        "return torch.relu(torch.matmul(x, self.t.t().to(6)))", "return torch.mm(x, self.t.to(6).t())",
        "w = self.w.to(6)\n    return torch.mm(x, w), w",
        "w = self.w.to(6)\n    y = torch.mm(x, w)\n    w[0] = 1\n    return y, torch.mm(x, w)",
        "return torch.mm(x, self.w[:, 1:].to(6))", "return torch.mm(x, self.w[1:].to(6)[:, 1:])",
        "return torch.mm(x, self.w.to(6) * 0.5)"}) {
    for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 8}, {24, 8}, {33, 40}}) {
      const torch::jit::Module module = with_weights(body, n, k);
      const std::int64_t rows = body.find("w[1:]") == std::string::npos ? k : k - 1;
      CAPTURE(body, n, k);
      OracleOptions options = close(1e-3);
      options.rounds = 3;
      check_model(module, {{at::randn({3, rows}), at::randn({1})}, {at::randn({1, rows}), at::randn({1})}},
                  options);
      check_model(module, {{at::randn({20, rows}), at::randn({1})}}, options);
    }
  }
  const auto reads = [](const std::string& body) {
    const PlanReport plan = plan_of(with_weights(body, 24, 40), {at::randn({5, 40}), at::randn({1})});
    REQUIRE(plan.steps.size() == 1);
    REQUIRE(plan.steps[0].reads.size() >= 2);
    return plan.steps[0].reads[1].bytes;
  };
  const bool widens = kernels::kernels().table.width >= 8;
  CHECK(reads("return torch.linear(x, self.t.to(6), self.b)") == (widens ? 24 * 40 : 24 * 40 * 4));
  CHECK(reads("return torch.mm(x, self.t.to(6).t())") == (widens ? 24 * 40 : 24 * 40 * 4));
}

TEST_CASE("conversions to small integers keep the low bits, as LibTorch's do", "[oracle][ops][replay]") {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const at::Tensor x =
      at::cat({at::tensor({nan, infinity, -infinity, 300.0f, -300.0f, 127.9f, -128.5f, 3e9f, -3e9f, 1e20f}),
               at::randn({60}) * 1000});
  for (const char* dtype : {"0", "1", "2"}) {  // uint8, int8, int16
    check_script(
        std::string("def forward(self, x):\n    return torch.clamp(x * 2, -1e10, 1e10).to(") + dtype + ")\n",
        {{x}, {at::randn({3, 5})}, {at::zeros({0})}});
  }
}

}  // namespace sr::test::ops_int8_products_tests
