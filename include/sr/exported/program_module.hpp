// An exported program as the module that TorchScript's importer would give: what reads one reads the other.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/exported/program.hpp>

namespace sr::exported {

// With one method, `forward`, and no attributes. Shares the program's tensors.
inline torch::jit::Module to_module(const Program& program) {
  const torch::jit::Module module("__torch__.ExportedProgram");
  const std::shared_ptr<torch::jit::Graph> graph = program.graph->copy();
  graph->insertInput(0, "self")->setType(module.type());
  torch::jit::Function* forward = module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph);
  std::vector<c10::Argument> arguments{c10::Argument("self", module.type())};
  arguments.insert(arguments.end(), program.schema.arguments().begin(), program.schema.arguments().end());
  forward->setSchema(c10::FunctionSchema("forward", "", std::move(arguments), program.schema.returns()));
  module.type()->addMethod(forward);
  return module;
}

}  // namespace sr::exported
