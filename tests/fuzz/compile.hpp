// Compiles a program to a module.
#pragma once

#include <torch/script.h>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// Returns a module in evaluation mode with its attributes filled. Throws if the program does not compile.
torch::jit::Module compile(const Case& program);
// Compiles the program in double precision: with the weights of `weights` converted to float64, and float64
// wherever the program names float32.
torch::jit::Module compile_in_double(const Case& program, const torch::jit::Module& weights);

}  // namespace sr::fuzz
