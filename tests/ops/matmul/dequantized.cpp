// Products of floats that were made of 8-bit integers, as PT2E writes them: one step on the integers.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_dequantized_products_tests {

namespace {

at::Tensor bytes(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::randint(dtype == at::kByte ? 0 : -128, dtype == at::kByte ? 256 : 128, sizes, dtype);
}

// Weights t: n x k, with a scale for each of their rows.
torch::jit::Module with_weights(const std::string& body, std::int64_t n, std::int64_t k) {
  return script("def forward(self, x, zero, scale):\n    " + body + "\n",
                {{"t", bytes({n, k}, at::kChar)},
                 {"scales", at::rand({n, 1}) * 0.01 + 0.001},
                 {"of_columns", at::rand({1, k})},
                 {"zeros", at::zeros({n, 1}, at::kLong)},
                 {"middle", at::full({n, 1}, 3, at::kLong)},
                 {"b", at::randn({n})}});
}

PlanReport plan_of(const std::string& body, const InputSet& inputs, Numerics numerics = Numerics::fast,
                   std::int64_t k = 40) {
  StaticModuleOptions options;
  options.numerics = numerics;
  StaticRuntime<> runtime{StaticModule(with_weights(body, 24, k), options)};
  for (int run = 0; run < 3; ++run) runtime(std::vector<c10::IValue>(inputs));
  REQUIRE(runtime.replayed_calls() == 1);
  return runtime.report().plans.at(0);
}

// Activations and weights, as the operators of PT2E compute them. Dtypes by number: 6 is float32, 7 float64.
const std::string kOne = "d = (x.to(6) - 3) * 0.05\n    ";
const std::string kGiven = "d = (x.to(6) - zero) * scale\n    ";
const std::string kSigned = "d = (x - zero) * scale\n    ";
const std::string kWeight = "w = (self.t - self.zeros) * self.scales\n    ";
const std::string kLinear = "return torch.linear(d, w, self.b)";

InputSet inputs(at::IntArrayRef sizes, at::ScalarType dtype, bool by_rows = false) {
  std::vector<std::int64_t> of_rows(sizes.begin(), sizes.end());
  of_rows.back() = 1;
  const at::IntArrayRef parameters = by_rows ? at::IntArrayRef(of_rows) : at::IntArrayRef();
  return {bytes(sizes, dtype), at::randint(0, 100, parameters).to(at::kFloat), at::rand(parameters) + 0.01};
}

const std::vector<std::string>& bodies() {
  static const std::vector<std::string> kBodies{
      kOne + kWeight + kLinear,
      kGiven + kWeight + kLinear,
      kSigned + kWeight + kLinear,
      kOne + kWeight + "return torch.relu(torch.linear(d, w))",
      kOne + kWeight + "return torch.addmm(self.b, d, w.t())",
      kGiven + kWeight + "return torch.mm(d, w.t())",
      kOne + kWeight + "return torch.matmul(d, w.t()) + self.b",
      kOne + "w = ((self.t - self.zeros) * self.scales.to(7)).to(6)\n    " + kLinear,
      kOne + "w = (self.t.to(6) - 0) * 0.01\n    " + kLinear,
      kOne + "w = self.t.to(6) * 0.01\n    " + kLinear,
      kOne + kWeight + "return torch.gelu(torch.linear(d, w)), torch.tanh(torch.linear(d, w, self.b))",
      // Not products of integers, or not these alone.
      kOne + kWeight + "return torch.linear(d, w), d",
      kOne + "w = (self.t - self.middle) * self.scales\n    " + kLinear,
      kOne + "w = (self.t - self.zeros) * self.of_columns\n    " + kLinear,
      kOne + "w = (self.t - self.zeros) * self.scales\n    w[0] = 2\n    " + kLinear,
      kOne + kWeight + "d[0] = 1\n    " + kLinear,
      kOne + kWeight + "e = torch.linear(d, w)\n    d *= 2\n    return e, torch.linear(d, w)",
      "d = (x.to(6) * 2 - 3) * 0.05\n    " + kWeight + kLinear,
      "d = (x - 3) * 0.05\n    " + kWeight + kLinear,  // wraps around
      "d = (x.to(6) - 2.5) * 0.05\n    " + kWeight + kLinear,
      "d = (x.to(6) - 300) * 0.05\n    " + kWeight + kLinear,
      "d = torch.sub(x.to(6), 3, alpha=2) * 0.05\n    " + kWeight + kLinear,
      kOne + kWeight + "return torch.linear(d[:, :8], w[:, :8])",
      kOne + kWeight + "return torch.mm(d[:, :1], w[:1])",
  };
  return kBodies;
}

}  // namespace

TEST_CASE("products of dequantized floats equal the interpreter's", "[oracle][ops][replay]") {
  at::manual_seed(47);
  OracleOptions options = close(2e-3);
  options.rounds = 3;
  for (const std::string& body : bodies()) {
    for (const at::ScalarType dtype : {at::kByte, at::kChar}) {
      for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{{24, 8}, {33, 40}}) {
        const torch::jit::Module module = with_weights(body, n, k);
        CAPTURE(body, dtype, n, k);
        check_model(module, {inputs({3, k}, dtype), inputs({1, k}, dtype)}, options);
        check_model(module, {inputs({20, k}, dtype), inputs({7, k}, dtype), inputs({2, k}, dtype)}, options);
        if (body.starts_with(kGiven) || body.starts_with(kSigned))
          check_model(module, {inputs({5, k}, dtype, true), inputs({9, k}, dtype, true)}, options);
      }
    }
  }
}

TEST_CASE("rows of dequantized floats may have several dimensions", "[oracle][ops][replay]") {
  at::manual_seed(48);
  OracleOptions options = close(2e-3);
  options.rounds = 3;
  for (const std::string& body :
       {kOne + kWeight + kLinear, kGiven + kWeight + kLinear,
        kGiven + kWeight + "return torch.addmm(self.b, d.reshape([-1, d.size(-1)]), w.t())"}) {
    const torch::jit::Module module = with_weights(body, 24, 40);
    CAPTURE(body);
    for (const bool by_rows : {false, true}) {
      check_model(module,
                  {inputs({2, 3, 40}, at::kByte, by_rows), inputs({4, 7, 40}, at::kByte, by_rows),
                   inputs({1, 1, 40}, at::kByte, by_rows)},
                  options);
    }
    InputSet turned = inputs({40, 6}, at::kByte);
    turned[0] = turned[0].toTensor().t();
    check_model(module, {turned}, options);
  }
  check_model(with_weights(kOne + kWeight + "return torch.linear(d, w)", 24, 40),
              {inputs({40}, at::kChar), inputs({0, 40}, at::kChar)}, options);
}

TEST_CASE("a product of dequantized floats is one step on the integers", "[ops][replay]") {
  const auto steps = [](const std::string& body, bool by_rows = false, Numerics numerics = Numerics::fast) {
    std::vector<std::string> kinds;
    for (const auto& step : plan_of(body, inputs({5, 40}, at::kByte, by_rows), numerics).steps)
      kinds.push_back(step.kind);
    return kinds;
  };
  const std::vector<std::string> one{"packed int8 gemm"};
  for (std::size_t i = 0; i < 10; ++i) {
    CAPTURE(bodies()[i]);
    if (bodies()[i] == kSigned + kWeight + kLinear) continue;
    CHECK(steps(bodies()[i]) == one);
  }
  CHECK(steps(kSigned + kWeight + kLinear, true) == one);
  CHECK(steps(kGiven + kWeight + "return torch.relu(torch.linear(d, w, self.b))", true) == one);
  const auto uses_integers = [&](const std::string& body, Numerics numerics = Numerics::fast) {
    const std::vector<std::string> kinds = steps(body, false, numerics);
    return std::ranges::find(kinds, one[0]) != kinds.end();
  };
  CHECK(uses_integers(kOne + kWeight + "return torch.linear(d, w), d"));
  for (std::size_t i = 12; i < bodies().size(); ++i) {
    CAPTURE(bodies()[i]);
    CHECK(!uses_integers(bodies()[i]));
  }
  CHECK(!uses_integers(kOne + kWeight + kLinear, Numerics::exact));
}

TEST_CASE("zero points that are not of 8-bit integers keep to floats", "[oracle][ops][replay]") {
  torch::jit::Module module = with_weights(kGiven + kWeight + kLinear, 24, 40);
  StaticRuntime<> runtime{StaticModule(module)};
  for (const bool by_rows : {false, true}) {
    InputSet given = inputs({6, 40}, at::kByte, by_rows);
    for (int call = 0; call < 4; ++call) runtime(std::vector<c10::IValue>(given));
    for (const float zero : {0.5f, 256.0f, -1e9f, std::numeric_limits<float>::quiet_NaN(), 255.0f}) {
      given[1].toTensor().view(-1)[-1].fill_(zero);
      const std::size_t before = runtime.replayed_calls();
      CAPTURE(by_rows, zero);
      CHECK(difference(interpret(module, given), runtime(std::vector<c10::IValue>(given)), close(2e-3)) ==
            "");
      CHECK(runtime.replayed_calls() - before == (zero == 255.0f ? 1 : 0));
    }
  }
}

TEST_CASE("reports name quantized layers that are computed with floats", "[ops][replay]") {
  const auto remarks = [](const std::string& body, Numerics numerics = Numerics::fast) {
    return plan_of(body, inputs({5, 40}, at::kByte), numerics).remarks;
  };
  CHECK(remarks(kOne + kWeight + kLinear).empty());
  CHECK(remarks(kOne + "return torch.linear(d, self.b.expand([2, -1])[:, :1].expand([-1, 40]) + d[:2])")
            .size() == 1);
  const std::vector<std::string> exact = remarks(kOne + kWeight + kLinear, Numerics::exact);
  REQUIRE(exact.size() == 1);
  CHECK(exact[0].starts_with("aten::linear"));
  CHECK(exact[0].find("the option `numerics`") != std::string::npos);
  const std::vector<std::string> convolution =
      remarks(kOne + "return torch.conv2d(d.reshape([1, 1, 5, 40]), self.scales.reshape([-1, 1, 1, 1]))");
  REQUIRE(convolution.size() == 1);
  CHECK(convolution[0].starts_with("aten::conv2d"));
  CHECK(convolution[0].find("sr has no product of integers for it, or none that is faster. It is step ") !=
        std::string::npos);
  CHECK(convolution[0].find(" us") == std::string::npos);

  StaticRuntime<> runtime{StaticModule(with_weights(kOne + "return torch.mm(d, d.t())", 24, 40))};
  runtime.time_steps(true);
  for (int run = 0; run < 4; ++run) runtime(std::vector<c10::IValue>(inputs({5, 40}, at::kByte)));
  const PlanReport plan = runtime.report().plans.at(0);
  REQUIRE(plan.remarks.size() == 1);
  CHECK(plan.remarks[0].find(" us of ") != std::string::npos);
}

TEST_CASE("sums that may not fit into 32 bits are floats", "[ops][replay]") {
  const std::int64_t k = 66'000;
  InputSet given = inputs({2, k}, at::kByte);
  for (const auto& step : plan_of(kOne + kWeight + kLinear, given, Numerics::fast, k).steps)
    CHECK(step.kind != "packed int8 gemm");
}

}  // namespace sr::test::ops_dequantized_products_tests
