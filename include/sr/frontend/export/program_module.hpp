// An exported program as a TorchScript module, so that both are prepared in the same way.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/frontend/export/program.hpp>

namespace sr::exported {

namespace detail {

// An attribute of the module that is still free; "name", or "name_".
inline std::string free_name(const torch::jit::Module& module, std::string name) {
  while (module.hasattr(name)) name += "_";
  return name;
}

// The submodule of the graph's module that holds the weight "layers.0.bias" as its attribute "bias", and the
// value of the graph that is this submodule.
struct Holder {
  torch::jit::Module module;
  torch::jit::Value* value = nullptr;

  // Makes the submodule if there is none.
  Holder inside(const std::string& name, torch::jit::Graph& graph) const {
    if (!module.hasattr(name)) {
      torch::jit::Module made(*module.type()->name(), module._ivalue()->compilation_unit(),
                              /*shouldMangle=*/true);
      torch::jit::Module outer = module;
      outer.register_module(name, made);
      return {made, get(name, graph)->setType(made.type())};
    }
    const c10::IValue held = module.attr(name);
    // Names of no PyTorch module, "a" and "a.b".
    if (!held.isModule()) return inside(name + "_", graph);
    return {held.toModule(), get(name, graph)};
  }

  torch::jit::Value* get(const std::string& name, torch::jit::Graph& graph) const {
    return graph.insertGetAttr(value, name);
  }
};

// The deepest nesting of submodules. LibTorch visits them recursively, and a name in a file may have any
// number of dots.
constexpr int kMaxDepth = 64;

// Turns constants of the graph that are weights of the program into attributes with the weights' names, of
// the module and its submodules.
inline void read_weights(torch::jit::Graph& graph, const torch::jit::Module& module, torch::jit::Value* self,
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
    Holder holder{module, self};
    std::string_view path = found->second->name;
    for (int depth = 0; depth < kMaxDepth && path.find('.') != path.npos; ++depth) {
      holder = holder.inside(std::string(path.substr(0, path.find('.'))), graph);
      path.remove_prefix(path.find('.') + 1);
    }
    std::string rest(path);
    std::ranges::replace(rest, '.', '_');  // a dot in a name would be read as a path
    const std::string name = free_name(holder.module, std::move(rest));
    holder.module.register_parameter(name, found->second->tensor, !found->second->is_parameter);
    node->output()->replaceAllUsesWith(holder.get(name, graph));
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
