// Fused steps that compute in doubles, and the floats at their ends.
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::doubles_tests {

namespace {

const char* const kFunctions[] = {"torch.exp(x)",      "torch.expm1(x)",
                                  "torch.log(x)",      "torch.log1p(x)",
                                  "torch.tanh(x)",     "torch.sigmoid(x)",
                                  "torch.erf(x)",      "torch.silu(x)",
                                  "torch.gelu(x)",     "torch.gelu(x, approximate='tanh')",
                                  "torch.elu(x, 0.7)", "torch.softplus(x, 1.5, 10)"};

at::Tensor special() {
  const std::vector<double> values = {0.0,  -0.0, INFINITY, -INFINITY, NAN,    1.0,  -1.0,  0.5,
                                      -0.5, 1e-9, 710.0,    -745.5,    5e-324, 1e10, -1e10, -36.0};
  return at::tensor(values, at::kDouble);
}

at::Tensor doubles(at::IntArrayRef sizes) {
  return at::randn(sizes, at::kDouble) * 3;
}

std::string source_of(const std::string& body) {
  return "def forward(self, x, y):\n    " + body + "\n";
}

// Compares replayed results to a few of a double's last places; the oracle's tolerance is for floats.
void check_digits(const std::string& body, const InputSet& inputs, std::size_t kernels) {
  CAPTURE(body);
  torch::jit::Module module = script(source_of(body));
  const c10::IValue expected = interpret(module, copy_inputs(inputs));
  sr::StaticRuntime<> runtime{sr::StaticModule(module)};
  c10::IValue actual;
  for (int run = 0; run < 3; ++run) actual = runtime(inputs);
  OracleOptions options;
  options.rtol = 4e-15;
  options.atol = 1e-15;
  CHECK(difference(expected, actual, options).empty());
  REQUIRE(runtime.report().plans.size() == 1);
  CHECK(runtime.report().plans[0].kernels == kernels);
  CHECK(runtime.report().plans[0].calls + runtime.report().plans[0].interpreted == 0);
}

}  // namespace

TEST_CASE("doubles: elementary functions equal the interpreter's", "[replay][ops]") {
  at::manual_seed(5);
  for (const std::string function : kFunctions) {
    DYNAMIC_SECTION(function) {
      std::vector<InputSet> runs;
      for (const at::Tensor& x : {doubles({33, 7}), doubles({5, 4}).t(), special()})
        runs.insert(runs.end(), 3, {x, x.clone()});
      check_script(source_of("return " + function + " * y"), runs, close(1e-12));
      check_digits("return " + function, runs.front(), 1);
      check_digits("return " + function, {doubles({3000}), doubles({1})}, 1);
    }
  }
}

TEST_CASE("doubles: a chain of functions is one step", "[replay][ops]") {
  at::manual_seed(6);
  const InputSet inputs{doubles({20, 130}), doubles({130})};
  check_digits("a = torch.exp(-x.abs()) + y\n    return torch.tanh(a) * torch.sigmoid(x), torch.erf(a) - y",
               inputs, 1);
  check_digits("return torch.log1p(torch.exp(-torch.relu(x * y))) / 2 + torch.where(x > y, torch.silu(x), y)",
               inputs, 1);
}

TEST_CASE("doubles: casts belong to the step that computes in doubles", "[replay][ops]") {
  at::manual_seed(7);
  const at::Tensor x = at::randn({40, 9}), wide = doubles({40, 9}), mask = x > 0;
  check_digits("return torch.exp(x.double()).float()", {x, wide}, 1);
  check_digits("return torch.tanh(x.double() * 2).to(6), torch.log1p(x.double().abs())", {x, wide}, 1);
  check_digits("return torch.sigmoid(x.double() + y)", {mask, wide}, 1);
  check_digits("return torch.expm1(x.double())", {x.to(at::kBFloat16), wide}, 1);
  // Float operators before and after are separate steps.
  check_digits("return torch.relu(torch.exp(torch.relu(x).double()).float() - 1)", {x, wide}, 3);
  // Precision that was lost in floats stays lost.
  check_digits("a = (y / 3).float()\n    return a + y, a.double() * y, a", {x, wide}, 2);
  check_digits("a = torch.exp(y)\n    return a, a.float().double()", {x, wide}, 2);
}

TEST_CASE("doubles: under Numerics::exact functions are LibTorch's", "[replay][ops]") {
  at::manual_seed(8);
  const InputSet inputs{doubles({40, 9}), doubles({40, 9})};
  torch::jit::Module module = script(source_of("return torch.exp(x * 2) + y"));
  sr::StaticRuntime<> runtime{sr::StaticModule(module, {.numerics = sr::Numerics::exact})};
  c10::IValue actual;
  for (int run = 0; run < 3; ++run) actual = runtime(inputs);
  CHECK(difference(interpret(module, copy_inputs(inputs)), actual).empty());
  REQUIRE(runtime.report().plans.size() == 1);
  CHECK(runtime.report().plans[0].kernels == 3);  // under Numerics::fast it is one
}

}  // namespace sr::test::doubles_tests
