// Smaller programs with the same kind of failure.
#pragma once

#include <functional>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// `fails` is asked at most `tries` times.
Case shrink(Case program, const std::function<bool(const Case&)>& fails, int tries = 400);

}  // namespace sr::fuzz
