// sr::quantize with weights of 8 and 4 bits that groups of inputs have scales for.
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/error.hpp>
#include <sr/kernels/kernels.hpp>
#include <sr/load.hpp>
#include <sr/quantize.hpp>
#include <sr/report.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

#include "support/catch.hpp"

namespace sr::test::quantize_group_tests {

namespace {

torch::jit::Module layers() {
  at::manual_seed(6);
  torch::jit::Module module("layers");
  module.register_parameter("first", at::randn({48, 64}), false);
  module.register_parameter("bias", at::randn({48}), false);
  module.register_parameter("odd", at::randn({24, 20}), false);
  module.register_parameter("last", at::randn({48, 40}), false);
  module.define(R"(
    def forward(self, x):
        hidden = torch.relu(torch.linear(x, self.first, self.bias))
        odd = torch.linear(hidden[..., :20], self.odd)
        return torch.matmul(hidden, self.last), odd
  )");
  module.eval();
  return module;
}

QuantizeOptions in_groups(int bits, std::int64_t group) {
  QuantizeOptions options;
  options.bits = bits;
  options.group = group;
  options.max_time_ratio = std::numeric_limits<double>::infinity();
  options.min_cosine = 0.98;
  return options;
}

at::Tensor first_of(const c10::IValue& result) {
  return result.toTupleRef().elements()[0].toTensor();
}

double relative_error(const at::Tensor& expected, const at::Tensor& result) {
  return ((expected - result).norm() / expected.norm()).item<double>();
}

}  // namespace

TEST_CASE("quantize: weights in groups", "[quantize]") {
  torch::jit::Module module = layers();
  const at::Tensor flat = at::randn({6, 64}), deep = at::randn({2, 3, 64});
  struct Case {
    int bits;
    std::int64_t group;
    double most, least;  // errors of the result
  };
  for (const auto& [bits, group, most, least] :
       std::vector<Case>{{8, 16, 0.02, 0.001}, {8, 8, 0.02, 0.001}, {4, 16, 0.15, 0.03}}) {
    CAPTURE(bits, group);
    QuantizationReport report;
    torch::jit::Module made = quantize(module, {{flat}, {deep}}, in_groups(bits, group), &report);
    REQUIRE(report.layers.size() == 3);
    CHECK(report.layers[0].is_quantized);
    CHECK(report.layers[1].reason == "its inputs are no multiple of the group, " + std::to_string(group));
    CHECK(report.layers[2].is_quantized);
    const std::int64_t elements = 48 * 64 + 48 * 40;
    CHECK(report.int8_bytes == elements * bits / 8 + elements / group * 4);
    std::stringstream file;
    made.save(file);
    const StaticModule loaded = load(file);
    StaticRuntime<> runtime{loaded};
    for (const at::Tensor& x : {flat, deep, at::randn({1, 64}), at::randn({0, 64}), flat}) {
      const at::Tensor expected = first_of(module.forward({x})), interpreted = first_of(made.forward({x}));
      for (int round = 0; round < 3; ++round) {
        const at::Tensor result = first_of(runtime(x));
        REQUIRE(result.sizes() == expected.sizes());
        if (x.numel() == 0) continue;
        CHECK(relative_error(expected, result) < most);
        CHECK(relative_error(expected, result) > least);
        CHECK(at::allclose(result, interpreted, 1e-4, 1e-4));
      }
    }
    if (kernels::kernels().table.width < 8) continue;
    std::size_t packed = 0;
    for (const PackedReport& kind : runtime.report().packed_weights) {
      if (kind.kind == "int8 or int4 matrices, for int8") packed += kind.count;
    }
    CHECK(packed == 2);
  }
}

TEST_CASE("quantize: 4 bits have groups of 32 if none are given", "[quantize]") {
  QuantizationReport report;
  quantize(layers(), {{at::randn({6, 64})}}, in_groups(4, 0), &report);
  CHECK(report.layers[0].is_quantized);
  CHECK(report.layers[0].error > 0.03);
  CHECK(report.layers[2].reason == "its inputs are no multiple of the group, 32");
}

TEST_CASE("quantize: a layer of 4 bits is timed", "[quantize]") {
  QuantizeOptions options = in_groups(4, 16);
  options.max_time_ratio = 1e-6;
  QuantizationReport report;
  quantize(layers(), {{at::randn({6, 64})}}, options, &report);
  CHECK(report.layers[0].int8_us > 0);
  CHECK(report.layers[0].reason == "int8 is not faster");
}

TEST_CASE("quantize: zeros and single large elements in 4 bits", "[quantize]") {
  torch::jit::Module module("layer");
  at::Tensor weight = at::zeros({8, 32});
  weight[1][3] = 5;
  weight[2][4] = -7;
  weight[3].fill_(0.25);
  module.register_parameter("weight", weight, false);
  module.define("def forward(self, x):\n    return torch.linear(x, self.weight)\n");
  torch::jit::Module made = quantize(module, {{at::eye(32)}}, in_groups(4, 16));
  CHECK(at::allclose(made.forward({at::eye(32)}).toTensor(), weight.t(), 1e-5, 1e-6));
}

TEST_CASE("quantize: groups and bits that nothing has", "[quantize]") {
  for (const auto& [bits, group] :
       std::vector<std::pair<int, std::int64_t>>{{3, 0}, {16, 8}, {8, 12}, {8, -8}, {4, 32'008}})
    CHECK_THROWS_AS(quantize(layers(), {{at::randn({4, 64})}}, in_groups(bits, group)), ArgumentError);
}

}  // namespace sr::test::quantize_group_tests
