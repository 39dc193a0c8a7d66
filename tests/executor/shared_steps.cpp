// Steps that threads share give the bits of those that one thread runs. The first runs of a step alternate
// between both, so every program below is compared in both ways.
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include <sr/base/intra_op_width.hpp>
#include <sr/base/team.hpp>
#include <sr/replay/steps/shares.hpp>
#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"

namespace sr::test::shared_steps_tests {

struct Shared {
  std::string what;
  std::string body;  // of forward(self, x, y)
  std::vector<std::int64_t> x, y;
};

torch::jit::Module model_of(const std::string& body) {
  return script("def forward(self, x, y):\n" + body,
                {{"a", at::randn({700, 300})},
                 {"b", at::randn({500, 700})},
                 {"row", at::randn({300})},
                 {"integers", at::randint(-127, 128, {300, 70}, at::kChar)}});
}

std::vector<at::Tensor> results(const torch::jit::Module& module, const std::vector<c10::IValue>& arguments,
                                int threads) {
  std::vector<at::Tensor> all;
  const IntraOpWidth width(threads);
  StaticRuntime<> runtime{StaticModule(module)};
  for (int call = 0; call < 12; ++call) all.push_back(runtime(arguments, {}).toTensor());
  const Report report = runtime.report();
  CHECK(report.replayed_calls > 6);
  for (const PlanReport& plan : report.plans) CHECK(plan.interpreted == 0);
  return all;
}

TEST_CASE("shared steps give the bits of unshared ones", "[executor][team][replay]") {
  at::manual_seed(3);
  const std::vector<Shared> programs{
      {"products with weights",
       "    return torch.relu(torch.linear(torch.relu(torch.linear(x, self.a)), self.b))\n",
       {33, 300},
       {1}},
      {"a chain over tiles that end in a short one",
       "    return torch.gelu(x * 2 + y).tanh() - x\n",
       {7, 9, 1031},
       {1031}},
      {"copies into scratch",
       "    return torch.exp(x.transpose(1, 2) * y).mul(3)\n",
       {5, 130, 120},
       {120, 1}},
      {"copies from scratch",
       "    return torch.exp(x * y).transpose(0, 1).contiguous() + x.transpose(0, 1)\n",
       {300, 200},
       {1, 200}},
      {"integers and conversions",
       "    return (x * 100).to(4).bitwise_and(7).to(5) + y\n",
       {300, 401},
       {401}},
      {"doubles", "    return (x.to(7) * 3 + y).abs().sqrt()\n", {300, 401}, {401}},
      {"softmax of rows in a tile", "    return torch.softmax(x * 0.125 + y, -1)\n", {12, 130, 127}, {127}},
      {"norm of rows in a tile",
       "    return torch.layer_norm(x + y, [300], self.row, self.row)\n",
       {400, 300},
       {400, 300}},
      {"sum of rows in a tile", "    return (x * y).sum(-1)\n", {900, 100}, {100}},
      {"softmax", "    return torch.softmax(x, -1)\n", {300, 1500}, {1}},
      {"log softmax", "    return torch.log_softmax(x, -1)\n", {3000, 33}, {1}},
      {"layer norm", "    return torch.layer_norm(x, [300], self.row, None)\n", {321, 300}, {1}},
      {"group norm", "    return torch.group_norm(x, 5, self.row, self.row)\n", {7, 300, 40}, {1}},
      {"an int8 product that quantizes its left operand",
       "    largest = torch.maximum(torch.amax(x, [-1], True), -torch.amin(x, [-1], True))\n"
       "    scale = torch.clamp(largest / 127., min=1e-12)\n"
       "    steps = torch.clamp(torch.round(x * (1.0 / scale)), -127, 127).to(1)\n"
       "    return torch._int_mm(steps, self.integers).to(6) * scale\n",
       {1003, 300},
       {1}},
      {"products of batches", "    return torch.matmul(x, y)\n", {3, 5, 65, 32}, {5, 32, 130}},
      {"products of broadcast batches",
       "    return torch.matmul(x, y.transpose(1, 2))\n",
       {1, 77, 64},
       {9, 66, 64}},
      {"a product of activations", "    return torch.matmul(x, y)\n", {77, 300}, {300, 200}},
      {"a product with a transposed activation",
       "    return torch.matmul(x, y.transpose(0, 1))\n",
       {77, 300},
       {210, 300}},
      {"a product whose columns end within a register",
       "    return torch.matmul(x, y)\n",
       {50, 300},
       {300, 333}},
      {"a product with a column", "    return torch.matmul(x, y)\n", {9000, 300}, {300, 1}},
      {"attention",
       "    return torch.scaled_dot_product_attention(x, y, y)\n",
       {2, 6, 130, 32},
       {2, 6, 70, 32}},
      {"causal attention",
       "    return torch.scaled_dot_product_attention(x, y, y, None, 0.0, True)\n",
       {2, 6, 130, 32},
       {2, 6, 130, 32}},
      {"attention with a mask",
       "    return torch.scaled_dot_product_attention(x, y, y, x[:, :, :, :1].transpose(2, 3) < 0)\n",
       {2, 3, 130, 64},
       {2, 3, 130, 64}},
      {"the parts of a concatenation",
       "    return torch.cat([torch.exp(x), torch.tanh(x * y)], 1)\n",
       {300, 400},
       {400}},
  };
  for (const Shared& program : programs) {
    INFO(program.what);
    const torch::jit::Module module = model_of(program.body);
    const std::vector<c10::IValue> arguments{at::randn(program.x), at::randn(program.y)};
    const std::vector<at::Tensor> alone = results(module, arguments, 1),
                                  shared = results(module, arguments, 2);
    for (std::size_t i = 3; i < alone.size(); ++i) CHECK(alone[i].equal(shared[i]));
  }
}

TEST_CASE("attention that threads share leaves numbers that are not finite to LibTorch",
          "[executor][team][replay]") {
  const IntraOpWidth width(2);
  const torch::jit::Module module = model_of("    return torch.scaled_dot_product_attention(x, y, y)\n");
  torch::jit::Module copy = module.deepcopy();
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = at::randn({2, 6, 130, 32}), y = at::randn({2, 6, 130, 32});
  at::Tensor infinite = x.clone();
  infinite.index_put_({1, 5, 129, 31}, std::numeric_limits<float>::infinity());
  for (int call = 0; call < 20; ++call) {
    const at::Tensor& query = call % 3 == 2 ? infinite : x;
    const at::Tensor expected = copy.forward({query, y}).toTensor(),
                     result = runtime({query, y}, {}).toTensor();
    CHECK(at::allclose(expected, result, 1e-4, 1e-5, /*equal_nan=*/true));
  }
}

TEST_CASE("a part of a step that throws ends the step, not the process", "[executor][team]") {
  const IntraOpWidth width(2);
  replay::Shares shares;
  shares.set(64, 64);
  for (int run = 0; run < 12; ++run) {  // alone and shared
    std::vector<int> done(64);
    const auto body = [&](std::int64_t first, std::int64_t end) {
      for (; first < end; ++first) {
        if (run % 3 != 0 && first == 40) throw std::bad_alloc();
        ++done[static_cast<std::size_t>(first)];
      }
    };
    CAPTURE(run);
    if (run % 3 == 0) {
      shares.each(body);
      CHECK(done == std::vector<int>(64, 1));
    } else {
      CHECK_THROWS_AS(shares.each(body), std::bad_alloc);
      CHECK(done[40] == 0);
    }
  }
}

}  // namespace sr::test::shared_steps_tests
