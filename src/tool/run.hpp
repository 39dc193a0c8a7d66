// `sr run`: runs a model on input sets, prints and writes what it returns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/api/module.h>

#include "inputs.hpp"

namespace sr::tool {

// Where arguments come from, for all verbs.
struct InputOptions {
  std::string file;                 // of torch.save
  std::vector<std::string> shapes;  // one for each argument
  std::uint64_t seed = 0;
};

// The input sets for a model of that schema, each argument as its type. A model without required arguments
// needs no options. Throws LoadError, and ArgumentError naming the schema when the number of arguments is
// wrong.
std::vector<ArgumentList> input_sets(const InputOptions& options, const c10::FunctionSchema& schema);

// Throws LoadError for what is not a file of torch.jit.save or torch.export.save.
torch::jit::Module load_model(const std::string& path);

struct RunOptions {
  std::string model;
  InputOptions inputs;
  std::string output;  // empty: not written
  std::string planner = "linear_scan";
  bool strict = false;
  std::int64_t repeat = 1;
};

// Returns the exit code of the program.
int run(const RunOptions& options);

}  // namespace sr::tool
