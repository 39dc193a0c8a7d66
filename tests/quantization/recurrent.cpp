// sr::quantize of recurrent networks.
#include <algorithm>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <torch/script.h>

#include <sr/load.hpp>
#include <sr/quantize.hpp>
#include <sr/report.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

#include "support/catch.hpp"

namespace sr::test::quantize_recurrent_tests {

namespace {

// An LSTM of two layers and two directions, a GRU whose weights lie in a list, and a cell.
torch::jit::Module networks() {
  at::manual_seed(4);
  torch::jit::Module module("networks");
  const auto add = [&](const std::string& name, at::IntArrayRef sizes) {
    module.register_parameter(name, at::randn(sizes) * 0.3, false);
  };
  std::string lstm;
  for (const std::string layer : {"0", "1"}) {
    for (const std::string direction : {"", "_reverse"}) {
      const std::string end = "_l" + layer + direction;
      add("weight_ih" + end, {64, layer == "0" ? 12 : 32});
      add("weight_hh" + end, {64, 16});
      add("bias_ih" + end, {64});
      add("bias_hh" + end, {64});
      for (const std::string name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
        lstm += "self." + name + end + ", ";
    }
  }
  add("gru_ih", {48, 32});
  add("gru_hh", {48, 16});
  add("cell_ih", {32, 16});
  add("cell_hh", {32, 32});
  module.define(
      "def forward(self, x, h, c, state):\n"
      "    y, h, c = torch.lstm(x, [h, c], [" +
      lstm +
      "], True, 2, 0.0, False, True, True)\n"
      "    z, last = torch.gru(y, h[:1], [self.gru_ih, self.gru_hh], False, 1, 0.0, False, False, True)\n"
      "    return z, torch.rnn_tanh_cell(last[0], state, self.cell_ih, self.cell_hh, None, None), c\n");
  module.eval();
  return module;
}

std::vector<c10::IValue> call(std::int64_t rows, std::int64_t length) {
  return {at::randn({rows, length, 12}), at::randn({4, rows, 16}), at::randn({4, rows, 16}),
          at::randn({rows, 32})};
}

QuantizeOptions recurrent() {
  QuantizeOptions options;
  options.recurrent = true;
  return options;
}

// The number of matrices that are packed, all of them as integers.
std::size_t packed_integers(const Report& report) {
  std::size_t count = 0;
  for (const PackedReport& packed : report.packed_weights) {
    CAPTURE(packed.kind);
    CHECK(packed.kind.find("int8") != std::string::npos);
    count += packed.count;
  }
  return count;
}

}  // namespace

TEST_CASE("quantize: recurrent networks", "[quantize]") {
  const torch::jit::Module module = networks();
  QuantizationReport report;
  torch::jit::Module made = quantize(module, {call(2, 5), call(1, 1)}, recurrent(), &report);
  REQUIRE(report.layers.size() == 12);
  CHECK(report.layers[0].name == "weight_ih_l0");
  CHECK(report.layers[11].name == "cell_hh");
  for (const QuantizedLayer& layer : report.layers) {
    CAPTURE(layer.name);
    CHECK(layer.is_quantized);
    CHECK(layer.error > 1e-4);
    CHECK(layer.error < 0.02);
  }
  CHECK(report.cosine > 0.999);
  CHECK(report.int8_bytes * 3 < report.float_bytes);

  // sr multiplies what LibTorch does, in other orders of sums; also after a file.
  std::stringstream file;
  made.save(file);
  for (const StaticModule& of_sr : {StaticModule(made), load(file)}) {
    StaticRuntime<> runtime{of_sr};
    for (const auto& [rows, length] : {std::pair<std::int64_t, std::int64_t>{2, 5}, {1, 1}, {7, 3}}) {
      for (int round = 0; round < 4; ++round) {
        const std::vector<c10::IValue> inputs = call(rows, length);
        const auto expected = made.forward(inputs).toTuple();
        const auto found = runtime(inputs).toTuple();
        for (std::size_t i = 0; i < 3; ++i)
          CHECK(
              at::allclose(found->elements()[i].toTensor(), expected->elements()[i].toTensor(), 1e-4, 1e-5));
      }
    }
    const Report plans = runtime.report();
    CHECK(plans.replayed_calls > 3);
    CHECK(packed_integers(plans) == 12);
  }
}

TEST_CASE("quantize: networks stay in float if not asked for, or beyond the error", "[quantize]") {
  const torch::jit::Module module = networks();
  QuantizationReport report;
  quantize(module, {call(1, 2)}, {}, &report);
  CHECK(report.layers.empty());
  QuantizeOptions options = recurrent();
  options.max_layer_error = 1e-5;
  quantize(module, {call(1, 2)}, options, &report);
  REQUIRE(report.layers.size() == 12);
  CHECK(std::ranges::none_of(report.layers, &QuantizedLayer::is_quantized));
  CHECK(report.layers[0].reason == "its error is above the bound");
  CHECK(report.largest == 0);
}

}  // namespace sr::test::quantize_recurrent_tests
