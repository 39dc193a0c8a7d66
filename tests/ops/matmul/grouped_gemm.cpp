// Products of floats with weights that were made of integers of 8 or 4 bits: one step, which reads the
// integers.
#include <cstdint>
#include <string>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_grouped_products_tests {

namespace {

// Weights t: n x k, of 8 bits, and half: of 4 bits. Scales and zero points: one for each row, and for each
// quarter of a row.
torch::jit::Module with_weights(const std::string& body, std::int64_t n, std::int64_t k) {
  return script("def forward(self, x):\n    " + body + "\n",
                {{"t", at::randint(-128, 128, {n, k}, at::kChar)},
                 {"half", at::randint(-8, 8, {n, k}, at::kChar)},
                 {"scales", at::rand({n, 1}) + 0.01},
                 {"zeros", at::randint(-3, 3, {n, 1}, at::kLong)},
                 {"of_groups", at::rand({n, 4}) + 0.01},
                 {"middles", at::randint(-8, 8, {n, 4}, at::kChar)},
                 {"empty", at::zeros({n, 4}, at::kChar)},
                 {"of_columns", at::rand({1, k})},
                 {"b", at::randn({n})}});
}

std::string in_groups(const std::string& weight, const std::string& zeros) {
  return "w = ((self." + weight + ".reshape([self.t.size(0), 4, -1]).to(6) - self." + zeros +
         ".reshape([-1, 4, 1]).to(6)) * self.of_groups.reshape([-1, 4, 1])).reshape([self.t.size(0), -1])\n  "
         "  ";
}

const std::vector<std::string>& bodies() {
  static const std::vector<std::string> kBodies{
      in_groups("half", "middles") + "return torch.linear(x, w, self.b)",
      in_groups("half", "empty") + "return torch.linear(x, w)",
      in_groups("t", "middles") + "return torch.relu(torch.linear(x, w, self.b))",
      in_groups("t", "empty") + "return torch.addmm(self.b, x, w.t())",
      "w = (self.t - self.zeros) * self.scales\n    return torch.mm(x, w.t())",
      "w = (self.t - self.zeros) * self.scales\n    return torch.linear(x, w), torch.linear(x * 2, w, "
      "self.b)",
      "w = self.half.to(6) * self.scales\n    return torch.linear(x, w)",
      "w = self.half.to(6) * 0.01\n    return torch.linear(x, w)",
      // Weights that are floats after all.
      "w = self.t.to(6) * self.of_columns\n    return torch.linear(x, w)",
      "w = (self.t.to(6) - 1) * self.scales * 2\n    return torch.linear(x, w)",
      in_groups("half", "middles") + "return torch.linear(x[:, 4:], w[:, 4:])",
      in_groups("half", "middles") + "w[0] = 3\n    return torch.linear(x, w)",
      in_groups("half", "middles") + "return torch.mm(x, w.reshape([-1, self.t.size(0)]))",
  };
  return kBodies;
}

}  // namespace

TEST_CASE("products with weights of 8 and 4 bits equal the interpreter's", "[oracle][ops][replay]") {
  at::manual_seed(51);
  OracleOptions options = close(1e-4);
  options.rounds = 3;
  for (const std::string& body : bodies()) {
    for (const auto& [n, k] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 8}, {24, 32}, {33, 40}}) {
      const torch::jit::Module module = with_weights(body, n, k);
      CAPTURE(body, n, k);
      check_model(module, {{at::randn({1, k})}, {at::randn({2, k})}, {at::randn({3, k})}}, options);
      check_model(module, {{at::randn({20, k})}, {at::randn({2 * k, 7}).t().narrow(1, 3, k)}}, options);
    }
  }
  const torch::jit::Module module = with_weights(bodies()[0], 24, 32);
  check_model(module, {{at::randn({2, 5, 32})}, {at::randn({32})}, {at::randn({0, 32})}}, options);
}

TEST_CASE("weights of 8 and 4 bits stay small", "[ops][replay]") {
  if (kernels::kernels().table.width < 8) return;
  const auto plan_of = [](const std::string& body, const StaticModuleOptions& options = {}) {
    StaticRuntime<> runtime{StaticModule(with_weights(body, 32, 64), options)};
    for (int run = 0; run < 3; ++run) runtime({at::randn({5, 64})}, {});
    REQUIRE(runtime.replayed_calls() == 1);
    return runtime.report();
  };
  for (std::size_t i = 0; i < bodies().size(); ++i) {
    CAPTURE(bodies()[i]);
    const Report report = plan_of(bodies()[i]);
    const bool is_small = report.plans.at(0).steps.at(0).kind.find("weights") != std::string::npos;
    CHECK(is_small == (i < 8));
  }
  StaticModuleOptions exact;
  exact.numerics = Numerics::exact;
  for (const auto& step : plan_of(bodies()[0], exact).plans.at(0).steps)
    CHECK(step.kind.find("weights") == std::string::npos);
  // 4 bits each, with a scale and a zero point for every 16 of them.
  const Report report = plan_of(bodies()[0]);
  CHECK(report.plans.at(0).steps.size() == 1);
}

}  // namespace sr::test::ops_grouped_products_tests
