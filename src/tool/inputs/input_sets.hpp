// The model and the arguments that a command line names.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/api/module.h>

#include "../verbs/run.hpp"
#include "inputs.hpp"

namespace sr::tool {

// The input sets for a model of that schema, each argument as its type. A model without required arguments
// needs no options. Throws LoadError, and ArgumentError naming the schema when the number of arguments is
// wrong.
std::vector<ArgumentList> input_sets(const InputOptions& options, const c10::FunctionSchema& schema);

// Throws LoadError for what is not a file of torch.jit.save or torch.export.save.
torch::jit::Module load_model(const std::string& path);

}  // namespace sr::tool
