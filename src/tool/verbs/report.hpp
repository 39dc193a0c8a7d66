// `sr report`: a page about a model.
#pragma once

#include <string>

#include "run.hpp"

namespace sr::tool {

struct ReportOptions {
  std::string model;
  InputOptions inputs;
  std::string html;  // file to write
  std::string planner = "linear_scan";
  double seconds = 1.0;  // of calls
};

// Returns the exit code of the program.
int report(const ReportOptions& options);

}  // namespace sr::tool
