// The graph, schema and weights that the importer makes of a torch.export program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/ir/ir.h>

namespace sr::exported {

// Weights, buffers and constants by the name the program gives them.
using Tensors = std::unordered_map<std::string, at::Tensor>;

// A weight, buffer or constant of a program, and the alias of it that is a constant of the graph.
struct ProgramWeight {
  std::string name;
  bool is_parameter = false;
  at::Tensor tensor, alias;
};

struct ExportedProgram {
  std::shared_ptr<torch::jit::Graph> graph = std::make_shared<torch::jit::Graph>();
  c10::FunctionSchema schema{"forward", "", {}, {}};  // dtypes and fixed sizes of tensors are part of it
  // How torch.utils._pytree nests the leaves of a call and of its result, as JSON; empty if the archive does
  // not say.
  std::string in_spec, out_spec;
  std::vector<ProgramWeight> weights;
  std::vector<std::optional<c10::IValue>> constants;  // of each leaf: the value that export took for it, or
                                                      // none for an argument of the graph
};

}  // namespace sr::exported
