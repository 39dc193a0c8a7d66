// Tests recurrent networks in recorded plans against the interpreter, for layers, directions and sizes of
// many kinds.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <sr/sr.hpp>

#include "support/catch.hpp"
#include "support/families.hpp"
#include "support/ir.hpp"
#include "support/oracle.hpp"
#include "support/replay.hpp"
#include "support/samples.hpp"

namespace sr::test::recurrent_lowering_tests {

namespace {

constexpr std::int64_t kFeatures = 5, kUnits = 6;

struct Network {
  std::string name;
  std::int64_t gates;
  std::int64_t layers = 1, directions = 1;
  bool has_biases = true, batch_first = false;

  bool is_lstm() const { return name == "lstm"; }

  Attributes weights() const {
    Attributes all;
    for (std::int64_t i = 0; i < layers * directions; ++i) {
      const std::int64_t in = i < directions ? kFeatures : kUnits * directions;
      const auto add = [&](const char* kind, at::IntArrayRef sizes) {
        all.emplace_back(kind + std::to_string(i), sample(sizes) * 0.3);
      };
      add("wx", {gates * kUnits, in});
      add("wh", {gates * kUnits, kUnits});
      if (has_biases) add("bx", {gates * kUnits}), add("bh", {gates * kUnits});
    }
    return all;
  }

  std::string source() const {
    std::string list;
    for (std::int64_t i = 0; i < layers * directions; ++i) {
      for (const char* kind : {"wx", "wh", "bx", "bh"}) {
        if (has_biases || kind[0] == 'w') list += "self." + (kind + std::to_string(i)) + ", ";
      }
    }
    const auto python = [](bool value) { return std::string(value ? "True" : "False"); };
    const std::string states = is_lstm() ? "[h, c]" : "h";
    return "def forward(self, x, h, c):\n    return torch." + name + "(x, " + states + ", [" + list + "], " +
           python(has_biases) + ", " + std::to_string(layers) + ", 0.0, False, " + python(directions == 2) +
           ", " + python(batch_first) + ")\n";
  }

  InputSet inputs(std::int64_t length, std::int64_t rows) const {
    const std::vector<std::int64_t> state{layers * directions, rows, kUnits};
    const std::vector<std::int64_t> x =
        batch_first ? std::vector{rows, length, kFeatures} : std::vector{length, rows, kFeatures};
    return {sample(x), sample(state), sample(state)};
  }
};

std::vector<Network> networks() {
  std::vector<Network> all;
  for (const auto& [name, gates] : std::vector<std::pair<std::string, std::int64_t>>{
           {"lstm", 4}, {"gru", 3}, {"rnn_tanh", 1}, {"rnn_relu", 1}}) {
    all.push_back({name, gates});
    all.push_back({name, gates, 2, 2});
    all.push_back({name, gates, 3, 1, false, true});
    all.push_back({name, gates, 1, 2, true, true});
  }
  return all;
}

bool is_interpreted(const Report& report) {
  for (const PlanReport& plan : report.plans) {
    if (plan.interpreted != 0) return true;
  }
  return report.plans.empty();
}

}  // namespace

TEST_CASE("recurrent networks run on kernels of sr", "[replay]") {
  for (const Network& network : networks()) {
    torch::jit::Module module = script(network.source(), network.weights());
    StaticRuntime<> runtime{StaticModule(module)};
    for (const auto& [length, rows] :
         std::vector<std::array<std::int64_t, 2>>{{1, 1}, {7, 1}, {1, 3}, {9, 4}}) {
      CAPTURE(network.name, network.layers, network.directions, network.batch_first, length, rows);
      const InputSet inputs = network.inputs(length, rows);
      const c10::IValue expected = interpret(module, inputs);
      for (int run = 0; run < 3; ++run) CHECK(difference(expected, runtime(inputs, {}), close(1e-5)) == "");
    }
    CHECK(runtime.replayed_calls() >= 4);
    CHECK_FALSE(is_interpreted(runtime.report()));
  }
}

TEST_CASE("sequences and batches of any size share the plans of a recurrent network", "[families]") {
  for (const Network& network : networks()) {
    if (network.directions == 2) continue;
    CAPTURE(network.name, network.layers);
    check_family(
        network.source(), [&](std::int64_t n) { return network.inputs(n % 40 + 1, n % 7 + 1); },
        network.weights(), 12);
  }
}

TEST_CASE("packed sequences run on kernels of sr, whatever their lengths", "[replay]") {
  for (Network network : networks()) {
    network.batch_first = false;
    const auto source = [&] {
      std::string text = network.source();
      text.replace(text.find("(x, "), 4, "(x, n, ");
      text.replace(text.find("def forward(self, x"), 19, "def forward(self, x, n");
      return text.erase(text.rfind(", False)"), 7);  // batch_first
    }();
    torch::jit::Module module = script(source, network.weights());
    StaticRuntime<> runtime{StaticModule(module)};
    const auto call = [&](const std::vector<std::int64_t>& batch_sizes) {
      const std::int64_t rows = std::accumulate(batch_sizes.begin(), batch_sizes.end(), std::int64_t{0});
      const InputSet states = network.inputs(1, batch_sizes[0]);
      return InputSet{sample({rows, kFeatures}), at::tensor(batch_sizes), states[1], states[2]};
    };
    // The first three have the same sizes of tensors.
    for (const std::vector<std::int64_t>& batch_sizes : std::vector<std::vector<std::int64_t>>{
             {4, 3, 2}, {4, 4, 1}, {4, 3, 2}, {1, 1, 1, 1}, {3}, {5, 5, 5, 4, 1}}) {
      CAPTURE(source, batch_sizes);
      const InputSet inputs = call(batch_sizes);
      const c10::IValue expected = interpret(module, inputs);
      for (int run = 0; run < 3; ++run) CHECK(difference(expected, runtime(inputs, {}), close(1e-5)) == "");
    }
    CHECK_FALSE(is_interpreted(runtime.report()));
    for (const std::vector<std::int64_t>& wrong :
         std::vector<std::vector<std::int64_t>>{{4, 3, 3}, {3, 3, 3}, {4, 0, 5}, {2, 3, 4}}) {
      CAPTURE(wrong);
      InputSet inputs = call({4, 3, 2});
      inputs[1] = at::tensor(wrong);
      std::string expected, found;
      try {
        interpret(module, inputs);
      } catch (const std::exception& error) {
        expected = "throws";
      }
      try {
        runtime(inputs, {});
      } catch (const std::exception& error) {
        found = "throws";
      }
      CHECK(expected == found);
    }
    const InputSet inputs = call({4, 3, 2});
    CHECK(difference(interpret(module, inputs), runtime(inputs, {}), close(1e-5)) == "");
  }
}

TEST_CASE("what recurrent kernels do not compute is LibTorch's", "[replay]") {
  const Network network{"lstm", 4};
  const auto plan_of = [&](const std::string& source, const InputSet& inputs, Attributes weights,
                           Numerics numerics) {
    torch::jit::Module module = script(source, weights);
    StaticModuleOptions options;
    options.numerics = numerics;
    StaticRuntime<> runtime{StaticModule(module, options)};
    const c10::IValue expected = interpret(module, inputs);
    for (int run = 0; run < 3; ++run) CHECK(difference(expected, runtime(inputs, {}), close(1e-5)) == "");
    return runtime.report();
  };
  const auto names_layer = [](const Report& report) {
    for (const PlanReport& plan : report.plans) {
      for (const StepReport& step : plan.steps) {
        if (step.kind == "recurrent layer") return true;
      }
    }
    return false;
  };
  CHECK(names_layer(plan_of(network.source(), network.inputs(4, 2), network.weights(), Numerics::fast)));
  CHECK_FALSE(
      names_layer(plan_of(network.source(), network.inputs(4, 2), network.weights(), Numerics::exact)));
  InputSet doubles = network.inputs(4, 2);
  for (c10::IValue& value : doubles) value = value.toTensor().to(at::kDouble);
  Attributes wide = network.weights();
  for (auto& [name, weight] : wide) weight = weight.toTensor().to(at::kDouble);
  CHECK_FALSE(names_layer(plan_of(network.source(), doubles, wide, Numerics::fast)));
  // A projection of the hidden state: five weights of each layer.
  Attributes projected = network.weights();
  projected.emplace_back("wp", sample({3, kUnits}));
  projected[1].second = sample({4 * kUnits, 3});
  std::string source = network.source();
  source.replace(source.find("self.bh0, "), 10, "self.bh0, self.wp, ");
  InputSet inputs = network.inputs(4, 2);
  inputs[1] = sample({1, 2, 3});
  CHECK_FALSE(names_layer(plan_of(source, inputs, projected, Numerics::fast)));
}

// The largest errors of sr and of LibTorch in a network of random weights, against doubles.
std::array<double, 2> errors_of(const Network& network, std::int64_t length, float scale) {
  Attributes weights = network.weights(), wide;
  for (auto& [name, weight] : weights) {
    weight = weight.toTensor() * scale;
    wide.emplace_back(name, weight.toTensor().to(at::kDouble));
  }
  const InputSet inputs = network.inputs(length, 2);
  InputSet doubles = inputs;
  for (c10::IValue& value : doubles) value = value.toTensor().to(at::kDouble);
  torch::jit::Module module = script(network.source(), weights);
  torch::jit::Module precise = script(network.source(), wide);
  const auto result = [](const c10::IValue& value) {
    return value.toTupleRef().elements()[0].toTensor().to(at::kDouble);
  };
  const at::Tensor truth = result(interpret(precise, doubles));
  const auto error = [&](const c10::IValue& value) {
    return (result(value) - truth).abs().max().item<double>();
  };
  StaticRuntime<> runtime{StaticModule(module)};
  for (int run = 0; run < 2; ++run) runtime(inputs, {});
  const double ours = error(runtime(inputs, {}));
  CHECK(runtime.replayed_calls() == 1);
  return {ours, error(interpret(module, inputs))};
}

TEST_CASE("rounding of recurrent networks stays as small as LibTorch's over many steps", "[replay]") {
  for (const Network& network : {Network{"lstm", 4}, Network{"gru", 3}, Network{"rnn_tanh", 1}}) {
    for (const std::int64_t length : {1, 100, 10'000}) {
      CAPTURE(network.name, length);
      const auto [ours, theirs] = errors_of(network, length, 1);
      CHECK(ours <= 2 * theirs + 4 * 1.2e-7);
    }
    // Large weights saturate gates and amplify errors from step to step, by chance more here or there: the
    // mean of the ratio says who rounds more.
    for (const std::int64_t length : {1, 10, 100}) {
      constexpr int kNetworks = 24;
      double ratio = 0;
      for (int i = 0; i < kNetworks; ++i) {
        const auto [ours, theirs] = errors_of(network, length, 20);
        ratio += std::log(std::max(ours, 1e-8) / std::max(theirs, 1e-8)) / kNetworks;
      }
      CAPTURE(network.name, length);
      CHECK(std::exp(ratio) <= 2);
    }
  }
}

TEST_CASE("states and sequences in any layout", "[replay]") {
  const Network network{"lstm", 4, 2, 1};
  torch::jit::Module module = script(network.source(), network.weights());
  StaticRuntime<> runtime{StaticModule(module)};
  const at::Tensor x = sample({3, 7, kFeatures}).transpose(0, 1), wide = sample({7, 3, 2 * kFeatures});
  const at::Tensor h = sample({3, 2, kUnits}).transpose(0, 1),
                   c = sample({2, 3, 2 * kUnits}).slice(2, 0, kUnits);
  for (const at::Tensor& given : {x, wide.slice(2, 0, kFeatures), wide.slice(2, 0, 2 * kFeatures, 2)}) {
    const InputSet inputs{given, h, c};
    const c10::IValue expected = interpret(module, inputs);
    for (int run = 0; run < 3; ++run) CHECK(difference(expected, runtime(inputs, {}), close(1e-5)) == "");
  }
  CHECK_FALSE(is_interpreted(runtime.report()));
}

}  // namespace sr::test::recurrent_lowering_tests
