// `sr quantize`: writes a model with its linear layers in int8.
#pragma once

#include <limits>
#include <string>

#include "run.hpp"

namespace sr::tool {

struct QuantizeVerbOptions {
  std::string model, output;
  InputOptions inputs;
  double max_layer_error = 0.05;  // as sr::QuantizeOptions has them
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
