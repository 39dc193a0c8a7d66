// What the linear layers of a model are given, and what int8 would make of it, while the interpreter runs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <sr/quantization/linear_layers.hpp>
#include <sr/quantization/quantized_linear.hpp>

namespace sr::quantization {

// What was observed of one layer in all calls.
struct Observed {
  Observed(const at::Tensor& of, const WeightFormat& format)
      : float_weight(of), weight(quantized(of, format)) {}

  at::Tensor float_weight;  // [outputs, inputs]
  QuantizedWeight weight;
  at::Tensor largest_input;  // the one with the most rows; undefined if the layer never ran
  std::int64_t rows = 0;     // of it
  bool has_bias = false;
  bool is_float = true;  // its input, in every call
  double squared_error = 0, squared_result = 0;

  double error() const { return squared_error == 0 ? 0 : std::sqrt(squared_error / squared_result); }
};

// Observes the operators that the current thread calls during watch(). The callbacks of at::RecordFunction
// are plain functions, so they find the observation through a thread-local pointer. The bodies of prim::fork
// run on other threads and are not observed.
class Observation {
 public:
  Observation(const std::vector<LinearLayer>& layers, const WeightFormat& format) {
    for (const LinearLayer& layer : layers) {
      if (layer.weight.scalar_type() == at::kFloat && fits_groups(layer.weight, format) &&
          layer.weight.isfinite().all().item<bool>())
        layers_.emplace(key_of(layer.weight), Observed(layer.weight, format));
    }
  }

  // The result of run(), whose operators are observed.
  template <class Run>
  auto watch(const Run& run) {
    const Watching watching(*this);
    return run();
  }

  // Returns null for a layer whose weight cannot be quantized.
  const Observed* find(const LinearLayer& layer) const {
    const auto found = layers_.find(key_of(layer.weight));
    return found == layers_.end() ? nullptr : &found->second;
  }

 private:
  class Watching {
   public:
    explicit Watching(Observation& observation) {
      current() = &observation;
      callback_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end)
                                                 .needsInputs(true)
                                                 .needsOutputs(true)
                                                 .scopes({at::RecordScope::FUNCTION}));
    }
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;
    ~Watching() {
      at::removeCallback(callback_);
      current() = nullptr;
    }

   private:
    at::CallbackHandle callback_;
  };

  // Between the begin and the end of an operator.
  struct Running final : at::ObserverContext {
    Observed* layer = nullptr;
    at::Tensor input;
    std::optional<at::Tensor> bias;
  };

  static Observation*& current() {
    thread_local Observation* observation = nullptr;
    return observation;
  }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    return current()->start(function);
  }
  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    if (context != nullptr) current()->finish(function, static_cast<Running&>(*context));
  }

  // Operators inside a layer, which may be layers themselves, are not looked at.
  std::unique_ptr<Running> start(const at::RecordFunction& function) {
    const std::optional<LinearOperator> op = is_inside_ ? std::nullopt : linear_operator(function.name());
    // The interpreter shows its whole stack, at whose end the arguments are, or the result.
    const c10::ArrayRef<const c10::IValue> stack = function.inputs();
    const c10::ArrayRef<const c10::IValue> inputs =
        stack.slice(stack.size() - std::min(stack.size(), function.num_inputs()));
    if (!op || inputs.size() <= op->weight || !inputs[op->weight].isTensor()) return nullptr;
    const at::Tensor& given = inputs[op->weight].toTensor();
    if (!given.defined() || given.dim() != 2) return nullptr;
    const at::Tensor weight = op->is_transposed ? given : given.t();
    const auto found = layers_.find(key_of(weight));
    if (found == layers_.end() || found->second.float_weight.sizes() != weight.sizes()) return nullptr;
    auto running = std::make_unique<Running>();
    running->layer = &found->second;
    running->input = inputs[op->input].toTensor();
    if (op->bias && inputs[*op->bias].isTensor()) running->bias = inputs[*op->bias].toTensor();
    is_inside_ = true;
    return running;
  }

  void finish(const at::RecordFunction& function, Running& running) {
    is_inside_ = false;
    const std::vector<c10::IValue>& outputs = function.outputs();
    Observed& layer = *running.layer;
    layer.is_float &= running.input.scalar_type() == at::kFloat;
    if (outputs.empty() || !outputs.back().isTensor() || !layer.is_float)
      return;  // it threw, or has another dtype
    const at::DisableRecordFunctionGuard not_observed;
    const at::NoGradGuard no_gradients;
    layer.has_bias |= running.bias.has_value();
    const std::int64_t rows = running.input.numel() / layer.float_weight.size(1);
    if (rows > layer.rows) {
      layer.rows = rows;
      layer.largest_input = running.input.clone();
    }
    const c10::IValue bias = running.bias ? c10::IValue(*running.bias) : c10::IValue();
    const at::Tensor in_int8 = quantized_linear(layer.weight.has_groups())(
                                   {running.input, layer.weight.values, layer.weight.scale, bias})
                                   .toTensor();
    const at::Tensor& expected = outputs.back().toTensor();
    layer.squared_error += (in_int8 - expected).to(at::kDouble).square().sum().item<double>();
    layer.squared_result += expected.to(at::kDouble).square().sum().item<double>();
  }

  std::unordered_map<const void*, Observed> layers_;
  bool is_inside_ = false;
};

}  // namespace sr::quantization
