// Runners that are wrong in one way, to see that the fuzzer says so.
#pragma once

#include <string_view>

#include "fuzz/check.hpp"
#include "fuzz/runner.hpp"

namespace sr::fuzz {

std::string_view name_of(Fault fault);
// Right for two calls, then wrong.
Runner plant(Runner runner, Fault fault, std::vector<at::Tensor> weights);

}  // namespace sr::fuzz
