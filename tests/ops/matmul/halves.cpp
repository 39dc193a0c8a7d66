// Products with constant weights in bfloat16 and float16: replays sum in fp32 and round once, as LibTorch
// does.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>

#include <sr/kernels/kernels.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/samples.hpp"

namespace sr::test::ops_matmul_16_bits_tests {

namespace {

// The distance of two neighbours near 1.
double step_of(at::ScalarType dtype) {
  return dtype == at::kHalf ? 0x1p-10 : 0x1p-7;
}

std::string source_of(const std::string& body) {
  return "def forward(self, x):\n    " + body + "\n";
}

// w: n x k.
torch::jit::Module with_weights(const std::string& body, std::int64_t n, std::int64_t k,
                                at::ScalarType dtype) {
  const auto halves = [=](at::IntArrayRef sizes) { return sample(sizes, dtype); };
  return script(source_of(body), {{"w", halves({n, k})},
                                  {"v", halves({k})},
                                  {"back", halves({k, n})},
                                  {"b", halves({n})},
                                  {"row", halves({1, n})},
                                  {"other", halves({2, k, n})}});
}

// Two fp32 sums in different orders are rounded to the same or to adjacent numbers.
OracleOptions one_step(at::ScalarType dtype) {
  return {.rtol = step_of(dtype), .atol = 1e-5, .rounds = 3};
}

// The steps of the third call's program.
PlanReport plan_of(const torch::jit::Module& module, const at::Tensor& x,
                   Numerics numerics = Numerics::fast) {
  StaticModuleOptions options;
  options.numerics = numerics;
  StaticRuntime<> runtime{StaticModule(module, options)};
  for (int run = 0; run < 3; ++run) runtime(x);
  REQUIRE(runtime.replayed_calls() == 1);
  REQUIRE(runtime.report().plans.size() == 1);
  return runtime.report().plans[0];
}

// The largest distance of the elements, in numbers of their type; all are positive.
std::int64_t most_steps(const at::Tensor& a, const at::Tensor& b) {
  return (a.view(at::kShort).to(at::kLong) - b.view(at::kShort).to(at::kLong))
      .abs()
      .max()
      .item<std::int64_t>();
}

struct Threads {
  explicit Threads(int count) : before(at::get_num_threads()) { at::set_num_threads(count); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { at::set_num_threads(before); }
  int before;
};

}  // namespace

TEST_CASE("products with constant weights in 16 bits equal the interpreter's", "[oracle][ops][replay]") {
  at::manual_seed(31);
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf);
  const auto halves = [=](at::IntArrayRef sizes) { return sample(sizes, dtype); };
  for (const std::string body :
       {"return torch.linear(x, self.w, self.b)", "return torch.linear(x, self.w)",
        "return torch.relu(torch.linear(x, self.w, self.b))", "return torch.matmul(x, self.w.t())",
        "return torch.matmul(x, self.back)", "return torch.matmul(x, self.v)",
        "return torch.matmul(x.abs() - 1, self.v.abs())",
        "y = torch.linear(x, self.w)\n    return y + 1, torch.relu(y)"}) {
    DYNAMIC_SECTION(body << " in " << dtype) {
      for (const auto& [n, k] :
           std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 30}, {3, 7}, {5, 1}, {17, 9}, {40, 33}}) {
        CAPTURE(n, k);
        std::vector<InputSet> runs{{halves({4, k})},
                                   {halves({1, k})},
                                   {halves({k})},
                                   {halves({2, 5, k})},
                                   {halves({0, k})},
                                   {transposed(halves({7, k}))},
                                   {stepped(halves({7, k}))},
                                   {halves({3, 2, k}).transpose(0, 1)}};
        if (n == 3) {
          for (const at::Tensor& refused : {sample({4, k}), halves({4, k + 1})}) runs.push_back({refused});
          runs.push_back({halves({k}).expand({3, k})});
        }
        check_model(with_weights(body, n, k, dtype), runs, one_step(dtype));
      }
    }
  }
  for (const std::string body :
       {"return torch.mm(x, self.back)", "return torch.addmm(self.b, x, self.back)",
        "return torch.addmm(self.row, x, self.w.t())", "return torch.relu(torch.addmm(self.b, x, self.back))",
        "return torch.addmm(self.b, x, self.back, beta=2, alpha=3)",
        "return torch.addmm(torch.mm(x, self.back), x, self.back)", "return torch.matmul(x, self.other)"}) {
    DYNAMIC_SECTION(body << " in " << dtype) {
      for (const auto& [n, k] :
           std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 30}, {3, 7}, {17, 9}, {40, 33}}) {
        CAPTURE(n, k);
        check_model(with_weights(body, n, k, dtype),
                    {{halves({4, k})}, {halves({1, k})}, {halves({0, k})}, {transposed(halves({7, k}))}},
                    {.rtol = step_of(dtype), .atol = 6 * step_of(dtype)});  // intermediate sums are rounded
      }
    }
  }
}

TEST_CASE("linear rounds as often as LibTorch does", "[ops]") {
  at::manual_seed(32);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf, at::kFloat}) {
    torch::jit::Module module = script(source_of("return torch.linear(x, self.w, self.b)"),
                                       {{"w", sample({30, 700}, dtype)}, {"b", sample({30}, dtype) * 100}});
    for (const Numerics numerics : {Numerics::exact, Numerics::fast}) {
      StaticModuleOptions options;
      options.numerics = numerics;
      StaticRuntime<> runtime{StaticModule(module, options)};
      // Operands without a second dimension, and operands that are not contiguous.
      for (const at::Tensor& x :
           {sample({700}, dtype), sample({1400}, dtype).slice(0, 0, 1400, 2), sample({2, 3, 700}, dtype),
            sample({3, 2, 700}, dtype).transpose(0, 1), sample({700, 3}, dtype).t()}) {
        const at::Tensor expected = interpret(module, {x}).toTensor();
        CAPTURE(dtype, x.sizes(), x.strides());
        for (int run = 0; run < 3; ++run) {
          const at::Tensor result = runtime(x).toTensor();
          if (numerics == Numerics::exact) CHECK(at::equal(result, expected));
          CHECK(difference(expected, result,
                           {.rtol = dtype == at::kFloat ? 1e-5 : step_of(dtype), .atol = 1e-4}) == "");
        }
      }
    }
  }
}

TEST_CASE("replays multiply constant weights in 16 bits by our kernels", "[ops][replay]") {
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf);
  struct Body {
    std::string text;
    std::size_t kernels = 2;  // the first converts x to fp32
  };
  for (const Body& body :
       std::vector<Body>{{"return torch.linear(x, self.w, self.b)"},
                         {"return torch.linear(x, self.w)"},
                         {"return torch.mm(x, self.back)"},
                         {"return torch.addmm(self.row, x, self.w.t())"},
                         {"return torch.matmul(x, self.v)"},
                         {"return torch.matmul(x.t(), torch.mm(x, self.back)), self.w", 3},
                         // the operator before runs in the step that converts, the one after in its own step
                         {"return torch.linear(x * x + x, self.w, self.b)"},
                         {"return torch.relu(torch.linear(x, self.w, self.b))"},
                         {"y = torch.linear(x, self.w)\n    return y, torch.relu(y)", 3},
                         {"return torch.linear(torch.relu(torch.linear(x, self.w)), "
                          "self.back)",
                          4}}) {
    CAPTURE(body.text);
    const bool is_all_ours = body.text.find("x.t()") == std::string::npos;
    const torch::jit::Module module = with_weights(body.text, 40, 33, dtype);
    const PlanReport plan = plan_of(module, sample({5, 33}, dtype));
    CHECK(plan.kernels == body.kernels - (is_all_ours ? 0 : 1));
    CHECK(plan.calls + plan.interpreted == (is_all_ours ? 0 : 1));
    CHECK(plan_of(module, sample({5, 33}, dtype), Numerics::exact).kernels < body.kernels);
  }
}

TEST_CASE(
    "results of a replay in 16 bits differ from the interpreter's by one unit at most, on any number of "
    "threads",
    "[ops][replay]") {
  at::manual_seed(33);
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf);
  struct Case {
    std::int64_t m, n, k;
  };
  for (const auto [m, n, k] : std::vector<Case>{{32, 512, 512},    // split by columns
                                                {131, 1030, 300},  // with a narrow last block
                                                {1001, 70, 600},   // split by rows
                                                {10001, 4, 1000},
                                                {20003, 1, 2000}}) {
    CAPTURE(m, n, k);
    const at::Tensor x = at::rand({m, k}).to(dtype);
    torch::jit::Module module = script(source_of("return torch.linear(x, self.w, self.b)"),
                                       {{"w", at::rand({n, k}).to(dtype)}, {"b", at::rand({n}).to(dtype)}});
    const at::Tensor expected = interpret(module, {x}).toTensor();
    at::Tensor by_one;
    for (const int threads : {1, 2, 3}) {
      const Threads set(threads);
      StaticRuntime<> runtime{StaticModule(module)};
      at::Tensor result;
      for (int run = 0; run < 3; ++run) result = runtime(x).toTensor();
      REQUIRE(runtime.replayed_calls() == 1);
      CHECK(runtime.report().plans[0].interpreted + runtime.report().plans[0].calls == 0);
      CHECK(most_steps(result, expected) <= 1);
      if (threads == 1) by_one = result;
      CHECK(at::equal(result, by_one));
    }
  }
}

TEST_CASE("a checked replay accepts a neighbour in 16 bits", "[replay]") {
  at::manual_seed(3);
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf);
  const auto halves = [=](at::IntArrayRef sizes) { return sample(sizes, dtype); };
  StaticModuleOptions options;
  options.debug.check_every = 1;
  const torch::jit::Module module = script(
      source_of(
          "y = torch.linear(x, self.w, self.b)\n    return torch.linear(torch.relu(y), self.w).float()"),
      {{"w", halves({512, 512})}, {"b", halves({512})}});
  StaticRuntime<> runtime{StaticModule(module, options)};
  const at::Tensor x = halves({32, 512});
  for (int run = 0; run < 5; ++run) runtime(x);
  CHECK(runtime.replayed_calls() == 3);
}

TEST_CASE("floats are multiplied by constants in 16 bits that the model widens", "[ops][replay]") {
  at::manual_seed(34);
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf);
  for (const std::string body :
       {"return torch.linear(x, self.w.float(), self.b.float())", "return torch.matmul(x, self.back.float())",
        "return torch.relu(torch.linear(x, self.w.to(6)))",
        "return torch.linear(x, self.w.double().float(), self.b.float())"}) {
    CAPTURE(body, dtype);
    const torch::jit::Module module = with_weights(body, 40, 33, dtype);
    check_model(module, {{sample({5, 33})}, {sample({1, 33})}, {sample({2, 3, 33})}}, close());
    StaticRuntime<> runtime{StaticModule(module)};
    for (int run = 0; run < 3; ++run) runtime(sample({5, 33}));
    const std::vector<PackedReport> packed = runtime.report().packed_weights;
    REQUIRE(packed.size() == 1);
    const bool widens = kernels::kernels().table.width >= 8;
    const std::string kind = dtype == at::kHalf ? "float16 matrices" : "bfloat16 matrices";
    CHECK(packed[0].kind == (widens ? kind : "float32 matrices"));
    CHECK(runtime.report().plans[0].kernels == 1);
  }
  // These lose digits before they are floats.
  for (const std::string body :
       {"return torch.matmul(x, self.back.to(4).float())", "return torch.matmul(x, (self.back + 1).float())",
        "return torch.matmul(x, self.back.to(5).to(15).float())"}) {
    CAPTURE(body, dtype);
    check_model(with_weights(body, 40, 33, dtype), {{sample({5, 33})}}, close());
  }
}

}  // namespace sr::test::ops_matmul_16_bits_tests
