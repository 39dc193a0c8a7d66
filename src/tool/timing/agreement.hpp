// Compares the results of two runners.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

namespace sr::tool {

struct Agreement {
  bool agrees = true;  // same structure, dtypes and sizes, and close: rtol 1e-4, atol 1e-5, NaN equals NaN
  double max_abs_diff = 0;  // over all tensors and numbers that can be compared
  double relative = 0;      // the largest norm of a difference, over the norm of what was expected
  std::string difference;   // the first one, in a sentence
  bool rounds = false;      // agrees but for activations that are rounded to other integers
};

Agreement compare(const c10::IValue& expected, const c10::IValue& actual);

// The tensors of a result in depth-first order, as StaticRuntime::run_into counts them.
std::vector<at::Tensor> tensors_of(const c10::IValue& result);

}  // namespace sr::tool
