// Finds smaller programs that fail in the same way.
#pragma once

#include <functional>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// Calls `fails` at most `tries` times.
Case shrink(Case program, const std::function<bool(const Case&)>& fails, int tries = 400);

}  // namespace sr::fuzz
