// `sr info`: what decides how many threads run, and which code.
#pragma once

#include <string>

namespace sr::tool {

struct InfoOptions {
  bool json = false;
  std::string version;  // of sr
};

// Returns the exit code of the program.
int info(const InfoOptions& options);

}  // namespace sr::tool
