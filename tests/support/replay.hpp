// What the tests of replay share: a small model, and readers of reports.
#pragma once

#include <string>

#include <ATen/ATen.h>

#include <sr/report.hpp>

namespace sr::test {

inline const char* const kSmall = "def forward(self, x, y):\n    return torch.relu((x + y) * 2)\n";

inline at::Tensor small(const at::Tensor& x, const at::Tensor& y) {
  return at::relu((x + y) * 2);
}

template <class Runtime>
std::size_t plans(const Runtime& runtime) {
  return runtime.report().plans.size();
}

inline bool says(const Report& report, const std::string& part) {
  for (const std::string& reason : report.bailouts) {
    if (reason.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace sr::test
