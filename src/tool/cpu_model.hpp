// The name of the CPU, for records of what was measured.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>

namespace sr::tool {

inline std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "unknown";
}

}  // namespace sr::tool
