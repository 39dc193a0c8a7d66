// `sr inspect`: what sr makes of a model.
#pragma once

#include <string>
#include <vector>

#include "run.hpp"

namespace sr::tool {

struct InspectOptions {
  std::string model;
  InputOptions inputs;
  bool graph = false;
  bool passes = false;
  std::vector<std::string> without_passes;
  std::string plan;  // file to write; empty: none
  std::string planner = "linear_scan";
};

// Returns the exit code of the program.
int inspect(const InspectOptions& options);

}  // namespace sr::tool
