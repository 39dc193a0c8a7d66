// The outcome of one call, as a caller sees it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/oracle.hpp"

namespace sr::test {

struct Outcome {
  InputSet inputs;  // after the call
  c10::IValue result;
  bool threw = false;
  bool is_jit_exception = false;
  std::string message;
};

// Calls with copies of the inputs.
Outcome run(const InputSet& inputs, const std::function<c10::IValue(std::vector<c10::IValue>)>& call);

std::string first_line(const std::string& text);

}  // namespace sr::test
