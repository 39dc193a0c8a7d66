// What a caller of quantize() may ask for, and the bounds on what a quantized model may lose.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/error.hpp>
#include <sr/quantization/quantized_linear.hpp>
#include <sr/quantize.hpp>

namespace sr::quantization {

using Inputs = std::vector<std::vector<c10::IValue>>;

// How the weights of linear layers are written.
inline WeightFormat format_of(const QuantizeOptions& options) {
  constexpr std::int64_t kGroupOf4Bits = 32;
  return {options.bits, options.bits == 4 && options.group == 0 ? kGroupOf4Bits : options.group};
}

inline double max_layer_error_of(const QuantizeOptions& options) {
  return options.max_layer_error.value_or(options.bits == 4 ? 0.15 : 0.05);
}

inline void require_sensible(const QuantizeOptions& options, const Inputs& inputs) {
  if (inputs.empty()) {
    throw ArgumentError(
        "quantize() was given no inputs; expected the arguments of one call or more that stand for the "
        "model's use, as the loss and the times are measured with them.");
  }
  const auto require = [](double value, bool is_sensible, const char* name, const char* expected) {
    if (is_sensible) return;
    std::ostringstream text;
    text << "The option " << name << " is " << value << "; expected " << expected << '.';
    throw ArgumentError(text.str());
  };
  require(max_layer_error_of(options), max_layer_error_of(options) >= 0, "max_layer_error", "0 or more");
  require(options.bits, options.bits == 8 || options.bits == 4, "bits", "8 or 4");
  constexpr std::int64_t kUnit = 8, kMost = 32'000;
  const bool is_group = options.group >= 0 && options.group % kUnit == 0 && options.group <= kMost;
  require(static_cast<double>(options.group), is_group, "group", "0 or a multiple of 8 up to 32,000");
  require(options.max_time_ratio, options.max_time_ratio > 0, "max_time_ratio", "more than 0");
  require(options.min_cosine, options.min_cosine >= -1 && options.min_cosine <= 1, "min_cosine",
          "a number from -1 to 1");
  require(options.max_difference, options.max_difference >= 0, "max_difference", "0 or more");
  require(options.max_loss, !std::isnan(options.max_loss), "max_loss", "a number");
}

inline std::string worst_layers(std::vector<QuantizedLayer> layers) {
  std::erase_if(layers, [](const QuantizedLayer& layer) { return !layer.is_quantized; });
  std::ranges::sort(layers, std::ranges::greater(), &QuantizedLayer::error);
  std::ostringstream text;
  for (std::size_t i = 0; i < std::min<std::size_t>(layers.size(), 3); ++i)
    text << (i == 0 ? "" : ", ") << layers[i].name << " (" << layers[i].error << ')';
  return text.str();
}

inline void require_small_loss(const QuantizationReport& report, const QuantizeOptions& options) {
  const auto refuse = [&](const char* what, double found, const char* bound, double allowed) {
    std::ostringstream text;
    text << "The quantized model is refused: " << what << " is " << found << ", and " << bound << " is "
         << allowed << ". The layers with the largest errors are " << worst_layers(report.layers)
         << ": a smaller max_layer_error leaves them in float.";
    throw QuantizationError(text.str());
  };
  if (!(report.cosine >= options.min_cosine))
    refuse("the smallest cosine of a result and the float model's", report.cosine, "min_cosine",
           options.min_cosine);
  if (!(report.largest <= options.max_difference))
    refuse("the largest difference to the float model's results", report.largest, "max_difference",
           options.max_difference);
  if (options.loss && !(report.loss <= options.max_loss))
    refuse("the mean loss", report.loss, "max_loss", options.max_loss);
}

}  // namespace sr::quantization
