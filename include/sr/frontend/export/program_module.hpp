// An exported program as a TorchScript module, so that both are prepared in the same way.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/frontend/export/program.hpp>

namespace sr::exported {

namespace detail {

// Turns constants of the graph that are weights of the program into attributes of the module with the
// weights' names.
inline void read_weights(torch::jit::Graph& graph, torch::jit::Module& module, torch::jit::Value* self,
                         const ExportedProgram& program) {
  std::unordered_map<const c10::TensorImpl*, const ProgramWeight*> weights;
  for (const ProgramWeight& weight : program.weights)
    weights.emplace(weight.alias.unsafeGetTensorImpl(), &weight);
  const torch::jit::WithInsertPoint at_start(*graph.block()->nodes().begin());
  for (torch::jit::Node* node : graph.block()->nodes()) {
    if (node->kind() != c10::prim::Constant) continue;
    const auto value = torch::jit::toIValue(node->output());
    if (!value || !value->isTensor()) continue;
    const auto found = weights.find(value->toTensor().unsafeGetTensorImpl());
    if (found == weights.end()) continue;
    // A dot in a name would be read as a path.
    std::string name = found->second->name;
    std::ranges::replace(name, '.', '_');
    while (module.hasattr(name)) name += "_";
    module.register_parameter(name, found->second->tensor,
                              /*is_buffer=*/!found->second->tensor.requires_grad());
    node->output()->replaceAllUsesWith(graph.insertGetAttr(self, name));
  }
}

}  // namespace detail

// A module with one method, `forward`, and the program's tensors as parameters and buffers.
inline torch::jit::Module to_module(const ExportedProgram& program) {
  torch::jit::Module module("__torch__.ExportedProgram");
  const std::shared_ptr<torch::jit::Graph> graph = program.graph->copy();
  torch::jit::Value* const self = graph->insertInput(0, "self")->setType(module.type());
  detail::read_weights(*graph, module, self, program);
  torch::jit::Function* forward = module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), graph);
  std::vector<c10::Argument> arguments{c10::Argument("self", module.type())};
  arguments.insert(arguments.end(), program.schema.arguments().begin(), program.schema.arguments().end());
  forward->setSchema(c10::FunctionSchema("forward", "", std::move(arguments), program.schema.returns()));
  module.type()->addMethod(forward);
  return module;
}

}  // namespace sr::exported
