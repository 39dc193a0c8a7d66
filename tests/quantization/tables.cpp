// sr::quantize of tables of embeddings.
#include <limits>
#include <vector>

#include <torch/script.h>

#include <sr/quantize.hpp>
#include <sr/report.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

#include "support/catch.hpp"

namespace sr::test::quantize_tables_tests {

namespace {

double relative_error(const at::Tensor& expected, const at::Tensor& result) {
  return ((expected - result).norm() / expected.norm()).item<double>();
}

}  // namespace

TEST_CASE("quantize: tables of embeddings", "[quantize]") {
  at::manual_seed(6);
  torch::jit::Module module("tables");
  module.register_parameter("bags", at::randn({50, 32}), false);
  module.register_parameter("rows", at::randn({40, 16}), false);
  module.register_parameter("short", at::randn({9, 2}), false);
  module.register_parameter("means", at::randn({9, 32}), false);
  module.define(R"(
    def forward(self, i, o, w):
        sums = torch.embedding_bag(self.bags, i, o, False, 0, False, None)[0]
        weighted = torch.embedding_bag(self.bags, i, o, False, 0, False, w)[0]
        means = torch.embedding_bag(self.means, i % 9, o, False, 1, False, None)[0]
        steps = torch.embedding(self.rows, torch.stack([i % 40, i], 1).select(1, 0))
        turned = torch.embedding_bag(self.bags, torch.stack([i, i], 1).select(1, 1), o, False, 0, False, None)[0]
        short = torch.embedding(self.short, i % 9)
        return sums, weighted, means, torch.embedding(self.rows, i.view([2, -1]) % 40), steps, turned, short
  )");
  module.eval();
  const auto call = [](std::int64_t n) -> std::vector<c10::IValue> {
    return {at::randint(50, {2 * n}, at::kLong), at::tensor({std::int64_t{0}, n}), at::rand({2 * n})};
  };
  QuantizeOptions options;
  options.max_time_ratio = std::numeric_limits<double>::infinity();
  options.tables = true;
  QuantizationReport report;
  torch::jit::Module made = quantize(module, {call(8)}, options, &report);
  REQUIRE(report.layers.size() == 3);
  CHECK(report.layers[0].name == "bags");
  CHECK(report.layers[0].is_quantized);
  CHECK(report.layers[0].error > 0.0005);
  CHECK(report.layers[0].error < 0.01);
  CHECK(report.layers[1].is_quantized);
  CHECK(report.layers[2].name == "short");
  CHECK(report.layers[2].reason == "its rows are too short to become smaller");
  CHECK(report.int8_bytes == 50 * 40 + 40 * 24);
  CHECK(report.float_bytes == 4 * (50 * 32 + 40 * 16));
  StaticRuntime<> runtime{StaticModule(made)};
  for (const std::int64_t n : {1, 8, 8, 8, 3, 20}) {
    const std::vector<c10::IValue> arguments = call(n);
    const auto expected = module.forward(arguments).toTuple(), exact = made.forward(arguments).toTuple(),
               result = runtime(arguments).toTuple();
    for (std::size_t i = 0; i < expected->elements().size(); ++i) {
      CHECK(relative_error(expected->elements()[i].toTensor(), result->elements()[i].toTensor()) < 0.01);
      CHECK(relative_error(exact->elements()[i].toTensor(), result->elements()[i].toTensor()) < 1e-6);
    }
  }
  CHECK(runtime.report().replayed_calls > 0);
  for (const PlanReport& plan : runtime.report().plans) CHECK(plan.interpreted == 0);
}

}  // namespace sr::test::quantize_tables_tests
