// Linear layers of a float model in 8 or 4 bits, without training or calibration.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/config.hpp>
#include <sr/base/jit_fwd.hpp>

namespace sr {

// What a quantized model may lose, and what it must gain.
struct QuantizeOptions {
  // The bits of the weights of linear layers, 8 or 4. With 4 bits a layer loses about 0.1 of its result where
  // weights are normally distributed, and reads half of the bytes.
  int bits = 8;
  // The group size: the number of adjacent inputs that share a scale in the weight of an output. A multiple
  // of 8 up to 32,000. 0 means one scale for each output with 8 bits, and groups of 32 with 4 bits. Layers
  // whose number of inputs is not a multiple of the group size stay in float.
  std::int64_t group = 0;
  // A layer stays in float above this error: |float - quantized| / |float|, Euclidean norms of what the layer
  // returns for all given inputs. Empty: 0.05 with 8 bits, 0.15 with 4.
  std::optional<double> max_layer_error = std::nullopt;
  // A layer is only quantized if it takes less than this share of its float time, measured here, on its
  // inputs, with the intra-op threads of the caller. Infinity: not measured.
  double max_time_ratio = 1.0;
  // Tables of embeddings become bytes, too, with a scale and a bias for each row: a quarter of the memory.
  // Their error is that of their elements, and they are not timed.
  bool tables = false;
  // Weights of recurrent networks (lstm, gru, rnn and their cells) become int8, too, with a scale for each
  // row, and are multiplied as floats: a step reads a quarter of the bytes. Their error is that of their
  // elements, and they are not timed.
  bool recurrent = false;
  // The gate, over the results of the whole model: the smallest cosine of a float result and its int8 twin,
  // and the largest absolute difference of two elements.
  double min_cosine = 0.99;
  double max_difference = std::numeric_limits<double>::infinity();
  // Optional: a loss of the caller's own, for example a loss of accuracy. It compares the quantized result of
  // one call with the float result. The mean over all calls must be at most `max_loss`.
  std::function<double(const c10::IValue& expected, const c10::IValue& result)> loss;
  double max_loss = std::numeric_limits<double>::infinity();
  // Optional: is told what is being done, for a person who waits.
  std::function<void(const std::string& what)> progress;
};

// A weight that linear layers multiply by, one of a recurrent network, or a table of embeddings.
struct QuantizedLayer {
  std::string name;                      // of the module, "encoder.0.fc"; else the line of the model
  std::int64_t inputs = 0, outputs = 0;  // columns of what the layer reads and writes; of a table, its sizes
  std::int64_t rows = 0;                 // the largest number in a call; 0 if it was not observed
  double error = 0;                      // see QuantizeOptions::max_layer_error
  double float_us = 0, int8_us = 0;      // medians of a call with `rows`; 0 if they were not measured
  bool is_quantized = false;
  std::string reason;  // why it is not; empty if it is
};

struct QuantizationReport {
  std::vector<QuantizedLayer> layers;            // in the order of the graph; networks and tables come last
  std::int64_t float_bytes = 0, int8_bytes = 0;  // of the weights of the layers that were quantized
  double largest = 0, mean = 0;                  // absolute differences between elements of results
  double cosine = 1;                             // the smallest of a result
  double unequal = 0;  // share of elements that differ, in results of other dtypes than float
  double loss = 0;     // the mean of QuantizeOptions::loss
};

// The model with each linear layer in integers where that is faster and within its error: weights are
// quantized once, and rows of activations symmetrically to int8 when they are multiplied.
// `inputs` are the positional arguments of one or more calls that stand for the model's use; the float model
// runs on them. The given module is not changed. The result is a plain TorchScript module, which
// torch.jit.save can write and LibTorch can run.
//
// `report`, if not null, is filled before anything is thrown about the loss. Throws QuantizationError if
// the loss is above a bound of the options, ArgumentError without inputs and for bounds that nothing can
// meet, UnsupportedOpError if the module cannot be frozen, and what the model throws.
torch::jit::Module quantize(const torch::jit::Module& module,
                            const std::vector<std::vector<c10::IValue>>& inputs,
                            const QuantizeOptions& options = {}, QuantizationReport* report = nullptr);

// A table of the layers, then the loss.
std::ostream& operator<<(std::ostream& out, const QuantizationReport& report);

}  // namespace sr
