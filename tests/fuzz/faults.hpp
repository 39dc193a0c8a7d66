// Runners with one planted fault each, to test that the fuzzer detects it.
#pragma once

#include <string_view>

#include "fuzz/check.hpp"
#include "fuzz/runner.hpp"

namespace sr::fuzz {

std::string_view name_of(Fault fault);
// Correct for two calls, then wrong.
Runner plant(Runner runner, Fault fault, std::vector<at::Tensor> weights);

}  // namespace sr::fuzz
