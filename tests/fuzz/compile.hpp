// From a program to a module.
#pragma once

#include <torch/script.h>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// In evaluation mode, its attributes filled. Throws when the program is none.
torch::jit::Module compile(const Case& program);

}  // namespace sr::fuzz
