// How long a linear layer takes in float and in int8.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/memory/planners.hpp>
#include <sr/quantization/observation.hpp>
#include <sr/quantization/quantized_linear.hpp>
#include <sr/static_module.hpp>
#include <sr/static_runtime.hpp>

namespace sr::quantization {

struct LayerTimes {
  double float_us = 0, int8_us = 0;  // medians
};

// The layer as a separate model.
class LayerTrial {
 public:
  LayerTrial(const Observed& layer, bool in_int8)
      : input_(layer.largest_input), runtime_(module_of(layer, in_int8)) {
    for (int i = 0; i < 4; ++i) run();  // records, then replays
  }

  // Runs the layer `calls` times. Returns the mean time of a call, in microseconds.
  double time(std::size_t calls) {
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < calls; ++i) run();
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
           static_cast<double>(calls);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static StaticModule module_of(const Observed& layer, bool in_int8) {
    const auto graph = std::make_shared<torch::jit::Graph>();
    torch::jit::Value* const input = graph->addInput("input");
    torch::jit::Value* const bias = layer.has_bias
                                        ? graph->insertConstant(at::zeros({layer.float_weight.size(0)}))
                                        : graph->insertConstant(c10::IValue());
    torch::jit::Value* result = nullptr;
    if (in_int8) {
      result = insert_linear(*graph, input, layer.weight, bias);
    } else {
      torch::jit::Value* const weight = graph->insertConstant(layer.float_weight);
      result = graph->insert(c10::aten::linear, {input, weight, bias});
    }
    graph->registerOutput(result);
    StaticModuleOptions options;
    options.weights.freeze = true;
    return StaticModule(graph, options);
  }

  void run() { runtime_(input_); }

  at::Tensor input_;
  StaticRuntime<> runtime_;
};

// Rounds of both in turn, so that other load on the machine meets both.
inline LayerTimes time_layer(const Observed& layer) {
  constexpr std::size_t kRounds = 9;
  constexpr double kRoundUs = 300;
  LayerTrial as_float(layer, false), as_int8(layer, true);
  const double longest = std::max({as_float.time(1), as_int8.time(1), 0.1});
  const auto calls = static_cast<std::size_t>(std::max(1.0, kRoundUs / longest));
  std::vector<double> float_us, int8_us;
  for (std::size_t round = 0; round < kRounds; ++round) {
    float_us.push_back(as_float.time(calls));
    int8_us.push_back(as_int8.time(calls));
  }
  const auto median = [](std::vector<double>& times) {
    std::ranges::nth_element(times, times.begin() + kRounds / 2);
    return times[kRounds / 2];
  };
  return {median(float_us), median(int8_us)};
}

}  // namespace sr::quantization
