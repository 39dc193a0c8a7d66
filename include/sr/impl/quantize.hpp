// Definitions of <sr/quantize.hpp>.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <sr/base/error.hpp>
#include <sr/frontend/private_clone.hpp>
#include <sr/impl/layer_trial.hpp>
#include <sr/impl/quantization_gate.hpp>
#include <sr/load.hpp>
#include <sr/quantization/byte_tables.hpp>
#include <sr/quantization/linear_layers.hpp>
#include <sr/quantization/loss.hpp>
#include <sr/quantization/observation.hpp>
#include <sr/quantization/quantized_linear.hpp>
#include <sr/quantization/recurrent_weights.hpp>
#include <sr/quantize.hpp>
#include <sr/static_runtime.hpp>

namespace sr {

namespace quantization {

inline torch::jit::Module frozen(const torch::jit::Module& module) {
  if (!module.find_method("forward"))
    throw UnsupportedOpError("The module " + module.type()->str() + " has no method 'forward' to quantize.");
  torch::jit::Module copy = sr::detail::private_clone(module);
  copy.eval();
  try {
    return torch::jit::freeze_module(copy);
  } catch (const std::exception& error) {
    throw UnsupportedOpError(
        std::string("LibTorch cannot freeze the module, so its weights are not known before it runs: ") +
        error.what());
  }
}

inline std::shared_ptr<torch::jit::Graph> graph_of(const torch::jit::Module& module) {
  return torch::jit::toGraphFunction(module.get_method("forward").function()).graph();
}

// A model may write into its arguments.
inline std::vector<c10::IValue> copies_of(const std::vector<c10::IValue>& arguments) {
  std::vector<c10::IValue> copies;
  copies.reserve(arguments.size());
  for (const c10::IValue& argument : arguments) copies.push_back(argument.deepcopy());
  return copies;
}

// Runs the model on copies of the inputs and of its state, and returns copies of the results.
inline std::vector<c10::IValue> run_float(const torch::jit::Module& of, const Inputs& inputs) {
  const torch::jit::GraphOptimizerEnabledGuard as_written(false);  // each layer is one operator
  torch::jit::Module module = of.deepcopy();
  std::vector<c10::IValue> results;
  results.reserve(inputs.size());
  for (const auto& arguments : inputs) results.push_back(module.forward(copies_of(arguments)).deepcopy());
  return results;
}

// Times each kind of layer once.
class Trials {
 public:
  LayerTimes of(const Observed& layer) {
    const std::array<std::int64_t, 4> kind{layer.float_weight.size(0), layer.float_weight.size(1), layer.rows,
                                           layer.has_bias ? 1 : 0};
    const auto [found, is_new] = times_.try_emplace(kind);
    if (is_new) found->second = time_layer(layer);
    return found->second;
  }

 private:
  std::map<std::array<std::int64_t, 4>, LayerTimes> times_;
};

inline QuantizedLayer judged(const LinearLayer& layer, const Observed* observed, Trials& trials,
                             const QuantizeOptions& options) {
  QuantizedLayer judged;
  judged.name = layer.name;
  judged.inputs = layer.weight.size(1);
  judged.outputs = layer.weight.size(0);
  const auto stays_float = [&](std::string reason) {
    judged.reason = std::move(reason);
    return judged;
  };
  if (layer.weight.scalar_type() != at::kFloat)
    return stays_float(std::string("its weight is ") + c10::toString(layer.weight.scalar_type()));
  const WeightFormat format = format_of(options);
  if (!fits_groups(layer.weight, format))
    return stays_float("its inputs are no multiple of the group, " + std::to_string(format.group));
  if (observed == nullptr) return stays_float("its weight has an infinity or NaN");
  if (!observed->is_float) return stays_float("its input is not float32");
  if (!observed->largest_input.defined()) return stays_float("no input runs it");
  judged.rows = observed->rows;
  judged.error = observed->error();
  if (!(judged.error <= max_layer_error_of(options))) return stays_float("its error is above the bound");
  if (std::isfinite(options.max_time_ratio)) {
    const LayerTimes times = trials.of(*observed);
    judged.float_us = times.float_us;
    judged.int8_us = times.int8_us;
    if (!(times.int8_us < times.float_us * options.max_time_ratio)) return stays_float("int8 is not faster");
  }
  judged.is_quantized = true;
  return judged;
}

inline void replace(const LinearLayer& layer, const QuantizedWeight& weight) {
  for (torch::jit::Node* node : layer.nodes) {
    const LinearOperator op = *linear_operator(node->kind().toQualString());
    torch::jit::Graph& graph = *node->owningGraph();
    const torch::jit::WithInsertPoint before(node);
    torch::jit::Value* const bias = op.bias ? node->input(*op.bias) : nullptr;
    torch::jit::Value* const result = insert_linear(graph, node->input(op.input), weight, bias);
    node->output()->replaceAllUsesWith(result);
    node->destroy();
  }
}

// Returns |made - given| / |given|, in Euclidean norms.
inline double error_of_elements(const at::Tensor& made, const at::Tensor& given) {
  const double error = (made - given).norm().item<double>();
  return error == 0 ? 0 : error / given.norm().item<double>();
}

inline QuantizedLayer judged(const RecurrentWeight& weight, const Int8Rows& rows,
                             const QuantizeOptions& options) {
  QuantizedLayer judged;
  judged.name = weight.name;
  judged.inputs = weight.matrix.size(1);
  judged.outputs = weight.matrix.size(0);
  judged.error = error_of_elements(rows.floats(), weight.matrix);
  judged.is_quantized = judged.error <= max_layer_error_of(options);  // false for NaN
  if (!judged.is_quantized) judged.reason = "its error is above the bound";
  return judged;
}

inline void quantize_networks(torch::jit::Graph& graph, const std::vector<RecurrentWeight>& weights,
                              const QuantizeOptions& options, QuantizationReport& report) {
  std::unordered_map<const void*, Int8Rows> quantized;
  for (const RecurrentWeight& weight : weights) {
    Int8Rows rows = to_int8_rows(weight.matrix);
    report.layers.push_back(judged(weight, rows, options));
    if (!report.layers.back().is_quantized) continue;
    report.float_bytes += static_cast<std::int64_t>(weight.matrix.nbytes());
    report.int8_bytes += static_cast<std::int64_t>(rows.values.nbytes() + rows.scale.nbytes());
    quantized.emplace(key_of(weight.matrix), std::move(rows));
  }
  replace(graph, quantized);
}

inline QuantizedLayer judged(const EmbeddingTable& table, const at::Tensor& bytes,
                             const QuantizeOptions& options) {
  QuantizedLayer judged;
  judged.name = table.name;
  judged.inputs = table.weight.size(0);
  judged.outputs = table.weight.size(1);
  judged.error = error_of_elements(from_bytes(bytes), table.weight);
  judged.is_quantized = judged.error <= max_layer_error_of(options) && bytes.nbytes() < table.weight.nbytes();
  if (!judged.is_quantized) {
    judged.reason = bytes.nbytes() < table.weight.nbytes() ? "its error is above the bound"
                                                           : "its rows are too short to become smaller";
  }
  return judged;
}

inline void quantize_tables(const std::vector<EmbeddingTable>& tables, const QuantizeOptions& options,
                            QuantizationReport& report) {
  for (const EmbeddingTable& table : tables) {
    const at::Tensor bytes = to_bytes(table.weight.contiguous());
    report.layers.push_back(judged(table, bytes, options));
    if (!report.layers.back().is_quantized) continue;
    report.float_bytes += static_cast<std::int64_t>(table.weight.nbytes());
    report.int8_bytes += static_cast<std::int64_t>(bytes.nbytes());
    replace(table, bytes);
  }
}

// Runs the quantized model in sr on the inputs, and compares.
inline void measure_loss(QuantizationReport& report, const torch::jit::Module& module, const Inputs& inputs,
                         const std::vector<c10::IValue>& expected, const QuantizeOptions& options) {
  StaticRuntime<> runtime(StaticModule(module, StaticModuleOptions{}));
  Loss loss;
  double sum = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const c10::IValue result = runtime(copies_of(inputs[i]));
    loss.add(expected[i], result);
    if (options.loss) sum += options.loss(expected[i], result);
  }
  report.largest = loss.largest();
  report.mean = loss.mean();
  report.cosine = loss.cosine();
  report.unequal = loss.unequal();
  report.loss = sum / static_cast<double>(inputs.size());
}

}  // namespace quantization

SR_INLINE torch::jit::Module quantize(const torch::jit::Module& module,
                                      const std::vector<std::vector<c10::IValue>>& inputs,
                                      const QuantizeOptions& options, QuantizationReport* report) {
  using namespace quantization;
  require_sensible(options, inputs);
  const at::NoGradGuard no_gradients;
  torch::jit::Module made = frozen(module).deepcopy();  // attributes that the model writes are not shared
  const auto names = names_of_weights(module);
  const std::vector<LinearLayer> layers = linear_layers(*graph_of(made), names);
  QuantizationReport own_report;
  QuantizationReport& about = report != nullptr ? *report : own_report;
  about = {};
  const auto tell = [&](const std::string& what) {
    if (options.progress) options.progress(what);
  };
  tell("running the float model");
  Observation observation(layers, format_of(options));
  const std::vector<c10::IValue> expected = observation.watch([&] { return run_float(made, inputs); });
  Trials trials;
  for (const LinearLayer& layer : layers) {
    tell("layer " + std::to_string(about.layers.size() + 1) + " of " + std::to_string(layers.size()) + ", " +
         layer.name);
    const Observed* const observed = observation.find(layer);
    about.layers.push_back(judged(layer, observed, trials, options));
    if (!about.layers.back().is_quantized) continue;
    about.float_bytes += static_cast<std::int64_t>(layer.weight.nbytes());
    about.int8_bytes += observed->weight.bytes();
    replace(layer, observed->weight);
  }
  if (options.recurrent)
    quantize_networks(*graph_of(made), recurrent_weights(*graph_of(made), names), options, about);
  if (options.tables) quantize_tables(embedding_tables(*graph_of(made), names), options, about);
  torch::jit::EliminateDeadCode(graph_of(made));
  made = made.clone(/*inplace=*/true);  // the executor of the one that ran keeps the float graph
  tell("comparing the results");
  measure_loss(about, made, inputs, expected, options);
  require_small_loss(about, options);
  return made;
}

}  // namespace sr
