// Compiles a program to a module.
#pragma once

#include <torch/script.h>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// Returns a module in evaluation mode with its attributes filled. Throws if the program does not compile.
torch::jit::Module compile(const Case& program);
// The same program in double: with `weights`, a module of it, in double, and float64 where it names float32.
torch::jit::Module compile_in_double(const Case& program, const torch::jit::Module& weights);

}  // namespace sr::fuzz
