// sr::quantize: which layers become int8, what the model then returns, and what is refused.
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/error.hpp>
#include <sr/quantize.hpp>
#include <sr/report.hpp>
#include <sr/session.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

#include "support/catch.hpp"

namespace sr::test::quantize_tests {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Layers by all operators that are one, two of them in branches, and one whose weight another shares.
torch::jit::Module layers() {
  torch::jit::Module module("layers");
  module.register_parameter("first", at::randn({48, 32}), false);
  module.register_parameter("bias", at::randn({48}), false);
  module.register_parameter("second", at::randn({48, 40}), false);
  module.register_parameter("third", at::randn({40, 24}), false);
  module.define(R"(
    def forward(self, x):
        hidden = torch.relu(torch.linear(x, self.first, self.bias))
        if hidden.dim() == 2:
            hidden = torch.mm(hidden, self.second)
        else:
            hidden = torch.matmul(hidden, self.second)
        flat = hidden.reshape([-1, 40])
        wide = torch.addmm(self.bias[:24], flat, self.third)
        return wide.reshape(x.shape[:-1] + [24]), hidden
  )");
  module.eval();
  return module;
}

QuantizeOptions every_layer() {
  QuantizeOptions options;
  options.max_time_ratio = kInfinity;
  return options;
}

double relative_error(const at::Tensor& expected, const at::Tensor& result) {
  return ((expected - result).norm() / expected.norm()).item<double>();
}

at::Tensor first_of(const c10::IValue& result) {
  return result.isTuple() ? result.toTupleRef().elements()[0].toTensor() : result.toTensor();
}

at::Tensor run(const torch::jit::Module& module, const at::Tensor& x) {
  StaticRuntime<> runtime{StaticModule(module)};
  at::Tensor result;
  for (int i = 0; i < 4; ++i) result = first_of(runtime(x));
  return result;
}

}  // namespace

TEST_CASE("quantize: layers of every operator are multiplied in int8", "[quantize]") {
  at::manual_seed(1);
  torch::jit::Module module = layers();
  const at::Tensor flat = at::randn({6, 32}), deep = at::randn({2, 3, 32});
  QuantizationReport report;
  torch::jit::Module made = quantize(module, {{flat}, {deep}}, every_layer(), &report);
  REQUIRE(report.layers.size() == 3);
  CHECK(report.layers[0].name == "first");
  CHECK(report.layers[0].inputs == 32);
  CHECK(report.layers[0].outputs == 48);
  CHECK(report.layers[0].rows == 6);
  for (const QuantizedLayer& layer : report.layers) {
    CHECK(layer.is_quantized);
    CHECK(layer.reason.empty());
    CHECK(layer.error > 0.0005);
    CHECK(layer.error < 0.03);
    CHECK(layer.float_us == 0);  // not measured
  }
  CHECK(report.float_bytes == 4 * (32 * 48 + 48 * 40 + 40 * 24));
  CHECK(report.int8_bytes == (32 * 48 + 48 * 40 + 40 * 24) + 4 * (48 + 40 + 24));
  CHECK(report.cosine > 0.999);
  CHECK(report.largest >= report.mean);
  CHECK(report.mean > 0);
  for (const at::Tensor& x : {flat, deep, at::randn({1, 32}), at::randn({0, 32}), at::randn({2, 0, 32})}) {
    const at::Tensor expected = first_of(module.forward({x})), result = run(made, x);
    CHECK(result.sizes() == expected.sizes());
    CHECK(result.scalar_type() == at::kFloat);
    if (x.numel() > 0) CHECK(relative_error(expected, result) < 0.03);
    CHECK(result.equal(first_of(made.forward({x}))));  // as LibTorch runs it
  }
}

TEST_CASE("quantize: the given module and the inputs stay as they are", "[quantize]") {
  torch::jit::Module module("writer");
  module.register_parameter("weight", at::randn({8, 8}), false);
  module.define(R"(
    def forward(self, x):
        x.add_(1)
        return torch.linear(x, self.weight)
  )");
  module.train();
  const at::Tensor weight = module.attr("weight").toTensor().clone(), x = at::randn({4, 8}),
                   given = x.clone();
  quantize(module, {{x}}, every_layer());
  CHECK(module.is_training());
  CHECK(module.attr("weight").toTensor().equal(weight));
  CHECK(x.equal(given));
}

TEST_CASE("quantize: the state of a model begins as it was", "[quantize]") {
  at::manual_seed(8);
  torch::jit::Module module("decoder");
  module.register_parameter("weight", at::randn({8, 8}), false);
  module.register_buffer("cache", at::zeros({4, 8}));
  module.register_attribute("position", c10::IntType::get(), 0);
  module.define(R"(
    def forward(self, x):
        self.cache[self.position] = torch.linear(x, self.weight)
        self.position = self.position + 1
        return self.cache.sum(0)
  )");
  const at::Tensor x = at::randn({8});
  const torch::jit::Module made = quantize(module, {{x}, {x}}, every_layer());
  for (const torch::jit::Module& each : {module, made}) {
    CHECK(each.attr("position").toInt() == 0);
    CHECK(each.attr("cache").toTensor().equal(at::zeros({4, 8})));
  }
  const StaticModule prepared(made);
  const Session session = prepared.session();
  at::Tensor sum;
  for (int step = 0; step < 4; ++step) {
    sum = session({x}).toTensor();
    CHECK(relative_error(module.forward({x}).toTensor(), sum) < 0.03);
  }
  CHECK(prepared.session().state().size() == 2);
}

TEST_CASE("quantize: a vector is a row", "[quantize]") {
  at::manual_seed(2);
  torch::jit::Module module("vector");
  module.register_parameter("weight", at::randn({16, 32}), false);
  module.define("def forward(self, x):\n    return torch.linear(x, self.weight)\n");
  const at::Tensor x = at::randn({32});
  const torch::jit::Module made = quantize(module, {{x}}, every_layer());
  const at::Tensor result = run(made, x);
  CHECK(result.sizes() == at::IntArrayRef{16});
  CHECK(relative_error(module.forward({x}).toTensor(), result) < 0.03);
}

TEST_CASE("quantize: what stays in float says why", "[quantize]") {
  torch::jit::Module module("mixed");
  module.register_parameter("doubles", at::randn({8, 8}, at::kDouble), false);
  module.register_parameter("infinite", at::full({8, 8}, kInfinity), false);
  module.register_parameter("unused", at::randn({8, 8}), false);
  module.register_parameter("noisy", at::randn({8, 8}), false);
  module.define(R"(
    def forward(self, x):
        wide = torch.linear(x.double(), self.doubles).float()
        if x.size(0) > 1000:
            wide = torch.linear(wide, self.unused)
        endless = torch.linear(x, self.infinite).isnan().float()
        return torch.linear(wide, self.noisy) + endless
  )");
  at::Tensor x = at::randn({4, 8});
  x.select(1, 0).fill_(1e6);  // one step of the row is larger than all other elements
  QuantizeOptions options = every_layer();
  options.max_layer_error = 1e-9;
  QuantizationReport report;
  quantize(module, {{x}}, options, &report);
  const auto reason = [&](const std::string& name) {
    for (const QuantizedLayer& layer : report.layers) {
      if (layer.name == name) return layer.reason;
    }
    FAIL("no layer " << name);
    return std::string();
  };
  CHECK(reason("doubles") == "its weight is Double");
  CHECK(reason("infinite") == "its weight has an infinity or NaN");
  CHECK(reason("unused") == "no input runs it");
  CHECK(reason("noisy") == "its error is above the bound");
  CHECK(report.float_bytes == 0);
  CHECK(report.largest == 0);
  CHECK(report.cosine == 1);
  std::ostringstream text;
  text << report;
  CHECK(text.str().find("stays float: its weight is Double") != std::string::npos);
  CHECK(text.str().find("0 of 4 layers in int8") != std::string::npos);
}

TEST_CASE("quantize: times are measured, and a bound on them is kept", "[quantize]") {
  torch::jit::Module module = layers();
  QuantizeOptions options;
  options.max_time_ratio = 1e-6;  // no product is a million times faster
  QuantizationReport report;
  quantize(module, {{at::randn({4, 32})}}, options, &report);
  for (const QuantizedLayer& layer : report.layers) {
    CHECK(layer.float_us > 0);
    CHECK(layer.int8_us > 0);
    CHECK_FALSE(layer.is_quantized);
    CHECK(layer.reason == "int8 is not faster");
  }
}

TEST_CASE("quantize: extreme activations", "[quantize]") {
  at::manual_seed(3);
  torch::jit::Module module("rows");
  at::Tensor weight = at::randn({8, 16});
  weight[3].fill_(0);
  module.register_parameter("weight", weight, false);
  module.define("def forward(self, x):\n    return torch.linear(x, self.weight)\n");
  torch::jit::Module made = quantize(module, {{at::randn({6, 16})}}, every_layer());
  at::Tensor x = at::randn({8, 16});
  x[0].fill_(0);
  x[1].fill_(-0.0);
  x[2][5] = std::numeric_limits<float>::quiet_NaN();
  x[3][5] = kInfinity;
  x[4] *= 1e-38;
  x[5] *= 1e15;
  x[6].fill_(-3);  // every step is -127
  const at::Tensor expected = module.forward({x}).toTensor(), result = run(made, x);
  CHECK(at::equal(result.nan_to_num(7), made.forward({x}).toTensor().nan_to_num(7)));
  CHECK(result[0].eq(0).all().item<bool>());
  CHECK(result[1].eq(0).all().item<bool>());
  CHECK(result[2].isnan().all().item<bool>());
  CHECK(result[3].isfinite().any().item<bool>() == false);
  for (const std::int64_t row : {5, 6, 7}) CHECK(relative_error(expected[row], result[row]) < 0.03);
  CHECK(result.select(1, 3).slice(0, 4).eq(0).all().item<bool>());
}

TEST_CASE("quantize: the gate", "[quantize]") {
  at::manual_seed(4);
  const torch::jit::Module module = layers();
  const std::vector<std::vector<c10::IValue>> inputs{{at::randn({4, 32})}, {at::randn({5, 32})}};
  const auto refusal = [&](const QuantizeOptions& options) {
    QuantizationReport report;
    try {
      quantize(module, inputs, options, &report);
    } catch (const QuantizationError& error) {
      CHECK(report.layers.size() == 3);
      return std::string(error.what());
    }
    FAIL("the model was accepted");
    return std::string();
  };
  QuantizeOptions options = every_layer();
  options.min_cosine = 1;
  CHECK(refusal(options).find("the smallest cosine") != std::string::npos);
  options = every_layer();
  options.max_difference = 1e-6;
  CHECK(refusal(options).find("max_difference is 1e-06") != std::string::npos);
  CHECK(refusal(options).find("first (0.0") != std::string::npos);
  options = every_layer();
  int calls = 0;
  options.loss = [&](const c10::IValue& expected, const c10::IValue& result) {
    ++calls;
    CHECK(first_of(expected).sizes() == first_of(result).sizes());
    return 0.25 * static_cast<double>(calls);
  };
  options.max_loss = 0.3;
  CHECK(refusal(options).find("the mean loss is 0.375, and max_loss is 0.3") != std::string::npos);
  CHECK(calls == 2);
}

TEST_CASE("quantize: what is asked for wrongly", "[quantize]") {
  const torch::jit::Module module = layers();
  const std::vector<std::vector<c10::IValue>> inputs{{at::randn({4, 32})}};
  CHECK_THROWS_AS(quantize(module, {}), ArgumentError);
  QuantizeOptions options;
  options.max_layer_error = std::nan("");
  CHECK_THROWS_AS(quantize(module, inputs, options), ArgumentError);
  options = {};
  options.min_cosine = 1.5;
  CHECK_THROWS_AS(quantize(module, inputs, options), ArgumentError);
  torch::jit::Module without("without");
  without.define("def other(self, x):\n    return x\n");
  CHECK_THROWS_AS(quantize(without, inputs), UnsupportedOpError);
  CHECK_THROWS(quantize(module, {{at::randn({4, 31})}}));  // what the model throws
  // No observer is left on the thread after that.
  CHECK_NOTHROW(at::linear(at::randn({2, 32}), module.attr("first").toTensor()));
}

TEST_CASE("quantize: other results than floats are counted where they differ", "[quantize]") {
  at::manual_seed(5);
  torch::jit::Module module("classes");
  module.register_parameter("weight", at::randn({64, 16}), false);
  module.define(R"(
    def forward(self, x):
        scores = torch.linear(x, self.weight)
        return {'class': scores.argmax(1)}, (scores, [scores * 2])
  )");
  QuantizationReport report;
  quantize(module, {{at::randn({200, 16})}}, every_layer(), &report);
  CHECK(report.unequal > 0);
  CHECK(report.unequal < 0.1);
  CHECK(report.cosine > 0.999);
}

TEST_CASE("quantize: layers of a report of packed weights", "[quantize]") {
  const torch::jit::Module made = quantize(layers(), {{at::randn({4, 32})}}, every_layer());
  StaticRuntime<> runtime{StaticModule(made)};
  for (int i = 0; i < 3; ++i) runtime(at::randn({4, 32}));
  const Report report = runtime.report();
  REQUIRE(report.packed_weights.size() == 1);
  CHECK(report.packed_weights[0].kind == "int8 matrices");
  CHECK(report.packed_weights[0].count == 3);
  CHECK(report.packed_weights[0].bytes >= 32 * 48 + 48 * 40 + 40 * 24);
  CHECK(report.packed_weights[0].bytes < 2 * (32 * 48 + 48 * 40 + 40 * 24));
}

}  // namespace sr::test::quantize_tests
