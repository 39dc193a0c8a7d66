#include "quantize.hpp"

#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include <sr/error.hpp>
#include <sr/frontend/loaded_graph.hpp>
#include <sr/quantize.hpp>

#include "../inputs/input_sets.hpp"
#include "../progress.hpp"

namespace sr::tool {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const QuantizationReport& report) {
  Json layers = Json::array();
  for (const QuantizedLayer& layer : report.layers) {
    layers.push_back({{"name", layer.name},
                      {"inputs", layer.inputs},
                      {"outputs", layer.outputs},
                      {"rows", layer.rows},
                      {"error", layer.error},
                      {"float_us", layer.float_us},
                      {"int8_us", layer.int8_us},
                      {"is_quantized", layer.is_quantized},
                      {"reason", layer.reason}});
  }
  return {{"layers", layers},
          {"float_bytes", report.float_bytes},
          {"int8_bytes", report.int8_bytes},
          {"largest_difference", report.largest},
          {"mean_difference", report.mean},
          {"smallest_cosine", report.cosine},
          {"unequal", report.unequal}};
}

c10::FunctionSchema schema_of_call(const torch::jit::Module& module) {
  const auto method = module.find_method("forward");
  if (!method) throw UnsupportedOpError("The model has no method 'forward'.");
  return sr::detail::without_self(method->function().getSchema());
}

void save(const torch::jit::Module& module, const std::string& path) {
  try {
    module.save(path);
  } catch (const std::exception& error) {
    throw LoadError("The file '" + path + "' cannot be written: " + error.what());
  }
}

}  // namespace

int quantize(const QuantizeVerbOptions& options) {
  const torch::jit::Module module = load_model(options.model);
  const std::vector<ArgumentList> inputs = input_sets(options.inputs, schema_of_call(module));
  QuantizeOptions bounds;
  bounds.bits = options.bits;
  bounds.group = options.group;
  bounds.max_layer_error = options.max_layer_error;
  bounds.max_time_ratio = options.max_time_ratio;
  bounds.tables = options.tables;
  bounds.recurrent = options.recurrent;
  bounds.min_cosine = options.min_cosine;
  bounds.max_difference = options.max_difference;
  Progress progress("quantize");
  bounds.progress = [&](const std::string& text) { progress.show_here(text); };
  QuantizationReport report;
  const auto tell = [&] {
    std::cout << report;
    if (!options.json.empty() && !(std::ofstream(options.json) << json_of(report).dump(1) << '\n'))
      throw LoadError("The file '" + options.json + "' cannot be written.");
  };
  try {
    const torch::jit::Module quantized = sr::quantize(module, inputs, bounds, &report);
    tell();
    save(quantized, options.output);
  } catch (const QuantizationError&) {
    tell();
    throw;
  }
  if (options.inputs.file.empty())
    std::cout << "The inputs were random. Errors on the model's own inputs may be larger or smaller: give "
                 "them with --inputs.\n";
  std::cout << "Wrote " << options.output << ".\n";
  return 0;
}

}  // namespace sr::tool
