// Compiles a program to a module.
#pragma once

#include <torch/script.h>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// Returns a module in evaluation mode with its attributes filled. Throws if the program does not compile.
torch::jit::Module compile(const Case& program);

}  // namespace sr::fuzz
