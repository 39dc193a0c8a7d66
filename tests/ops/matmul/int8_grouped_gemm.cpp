// Products of floats that were made of int8 with weights that were made of integers of 8 or 4 bits with
// scales of groups: one step, which reads the integers of both.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_int8_grouped_products_tests {

namespace {

// Weights t: n x k, of 8 bits, and half: of 4 bits. Scales of four groups, and of rows.
torch::jit::Module with_weights(const std::string& body, std::int64_t n, std::int64_t k) {
  return script("def forward(self, x, z):\n    " + body + "\n",
                {{"t", at::randint(-128, 128, {n, k}, at::kChar)},
                 {"half", at::randint(-8, 8, {n, k}, at::kChar)},
                 {"scales", (at::rand({n, 4, 1}) + 0.01) * 0.02},
                 {"of_rows", (at::rand({n, 1}) + 0.01) * 0.02},
                 {"middles", at::randint(-8, 8, {n, 4, 1}, at::kChar)},
                 {"b", at::randn({n})}});
}

std::string in_groups(const std::string& weight) {
  return "w = (self." + weight +
         ".reshape([self.t.size(0), 4, -1]).to(6) * self.scales).reshape([self.t.size(0), -1])\n    ";
}

// Quantizes the rows of x with the same operators as sr.quantize.
const std::string kRows =
    "s = torch.clamp(torch.maximum(torch.amax(x, [-1], True), -torch.amin(x, [-1], True)) / 127., "
    "min=1e-12)\n    "
    "q = torch.clamp(torch.round(x * (1.0 / s)), -127, 127).to(1)\n    ";

struct Body {
  std::string text;
  bool is_one_step;  // which also quantizes the rows
};

const std::vector<Body>& bodies() {
  static const std::vector<Body> kBodies{
      {in_groups("half") + kRows + "return torch.linear(q.to(6) * s, w, self.b)", true},
      {in_groups("half") + kRows + "return torch.relu(torch.linear(q.to(6) * s, w))", true},
      {in_groups("t") + kRows + "return torch.linear(q.to(6) * s, w)", true},
      {in_groups("t") + kRows + "return torch.addmm(self.b, q.to(6) * s, w.t())", true},
      {"w = self.half.to(6) * self.of_rows\n    " + kRows + "return torch.mm(q.to(6) * s, w.t())", true},
      {in_groups("half") + kRows +
           "return torch.linear(q.to(6) * s, w, self.b), torch.linear(q.to(6) * s, w)",
       false},
      {in_groups("half") + kRows + "return torch.linear(q.to(6) * s, w), q, s", false},
      {in_groups("half") + kRows + "return torch.linear(q.to(6) * (s * 2), w)", false},
      {in_groups("half") + kRows + "return torch.linear((q.to(6) - 3) * s, w)", false},
      {in_groups("half") + kRows + "return torch.linear((q.to(6) - z) * s, w, self.b)", false},
      {in_groups("t") + kRows + "return torch.linear((q.to(6) - z) * 0.5, w)", false},
      {in_groups("half") + kRows + "return torch.linear(q.to(6) * 0.02, w)", false},
      // Floats after all: fractions as zero points, weights with zero points, unsigned rows.
      {in_groups("half") + kRows + "return torch.linear((q.to(6) - z * 0.3) * s, w)", false},
      {"w = ((self.half.reshape([self.t.size(0), 4, -1]).to(6) - self.middles.to(6)) * "
       "self.scales).reshape([self.t.size(0), -1])\n    " +
           kRows + "return torch.linear(q.to(6) * s, w)",
       false},
      {in_groups("half") + kRows + "return torch.linear(q.to(0).to(6) * s, w)", false},
  };
  return kBodies;
}

std::vector<c10::IValue> call(std::int64_t rows, std::int64_t k) {
  return {at::randn({rows, k}) * 3, at::randint(-20, 20, {rows, 1}).to(at::kFloat)};
}

}  // namespace

TEST_CASE("products of int8 rows with weights in groups equal the interpreter's", "[oracle][ops][replay]") {
  at::manual_seed(52);
  OracleOptions options = close(1e-4);
  options.rounds = 3;
  for (const Body& body : bodies()) {
    for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{{33, 64}, {9, 20}}) {
      const torch::jit::Module module = with_weights(body.text, n, k);
      CAPTURE(body.text, n, k);
      check_model(module, {call(1, k), call(6, k), call(0, k)}, options);
    }
  }
  const torch::jit::Module module = with_weights(bodies()[0].text, 24, 32);
  const at::Tensor none = at::zeros({1});
  check_model(module, {{at::randn({2, 5, 32}), none}, {at::randn({7, 64}).narrow(1, 3, 32), none}}, options);
}

TEST_CASE("a step of int8 rows and weights in groups quantizes its rows", "[ops][replay]") {
  if (kernels::kernels().table.width < 8) return;
  for (const Body& body : bodies()) {
    StaticRuntime<> runtime{StaticModule(with_weights(body.text, 32, 64))};
    for (int run = 0; run < 3; ++run) runtime(call(5, 64), {});
    CAPTURE(body.text);
    const auto steps = runtime.report().plans.at(0).steps;
    CHECK((steps.size() == 1 && steps[0].kind.find("of int8 rows") != std::string::npos) == body.is_one_step);
  }
}

TEST_CASE("rows with NaN, infinity and zeros times weights in groups", "[oracle][ops][replay]") {
  at::manual_seed(53);
  at::Tensor x = at::randn({5, 64});
  x[0][3] = std::numeric_limits<float>::quiet_NaN();
  x[1][5] = std::numeric_limits<float>::infinity();
  x[2].zero_();
  x[3] *= 1e-30;
  OracleOptions options = close(1e-4);
  options.rounds = 3;
  check_model(with_weights(bodies()[0].text, 24, 64), {{x, at::zeros({1})}}, options);
}

}  // namespace sr::test::ops_int8_grouped_products_tests
