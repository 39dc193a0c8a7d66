// `sr quantize`: writes a model with its linear layers in int8.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "run.hpp"

namespace sr::tool {

struct QuantizeVerbOptions {
  std::string model, output;
  InputOptions inputs;
  int bits = 8;  // as sr::QuantizeOptions has them
  std::int64_t group = 0;
  std::optional<double> max_layer_error = std::nullopt;
  double max_time_ratio = 1;
  bool tables = false;
  bool recurrent = false;
  double min_cosine = 0.99;
  double max_difference = std::numeric_limits<double>::infinity();
  std::string json;  // file to write; empty: none
};

// Returns the exit code of the program.
int quantize(const QuantizeVerbOptions& options);

}  // namespace sr::tool
