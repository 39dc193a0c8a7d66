// Which function would be selected for an operator, without a model: selection is run on a graph of one node.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/registry/selection.hpp>

namespace sr {

namespace detail {

// Type variables are taken to be tensors.
inline void bind_variables(const c10::TypePtr& type, c10::TypeEnv& bound) {
  if (type->kind() == c10::TypeKind::VarType)
    bound[type->expectRef<c10::VarType>().name()] = c10::TensorType::get();
  for (const c10::TypePtr& inner : type->containedTypes()) bind_variables(inner, bound);
}
inline c10::TypePtr without_variables(const c10::TypePtr& type) {
  c10::TypeEnv bound;
  bind_variables(type, bound);
  return bound.empty() ? type : c10::tryEvalTypeVariables(type, bound);
}

// The node as most models have it: arguments with a default keep it.
inline torch::jit::Node* add_node(torch::jit::Graph& graph, const c10::FunctionSchema& schema,
                                  bool defaults) {
  std::vector<torch::jit::Value*> inputs;
  for (const c10::Argument& argument : schema.arguments()) {
    torch::jit::Value* input = nullptr;
    if (defaults && argument.type()->kind() == c10::TypeKind::OptionalType) {
      input = graph.insertConstant(c10::IValue());
    } else if (defaults && argument.default_value()) {
      if (const auto constant = torch::jit::tryInsertConstant(graph, *argument.default_value()))
        input = *constant;
    }
    if (input == nullptr) {
      input = graph.addInput();
      input->setType(without_variables(argument.type()));
    }
    inputs.push_back(input);
  }
  torch::jit::Node* node =
      graph.create(c10::Symbol::fromQualString(schema.name()), inputs, schema.returns().size());
  for (std::size_t i = 0; i < schema.returns().size(); ++i)
    node->output(i)->setType(without_variables(schema.returns()[i].type()));
  graph.insertNode(node);
  return node;
}

}  // namespace detail

struct OperatorSelection {
  bool reachable = false;  // no other overload takes the same arguments before
  NodeKind kind = NodeKind::fallback;
  std::string functor;
};

// Not for operators with a variable number of arguments.
inline OperatorSelection select_operator(const c10::FunctionSchema& schema) {
  OperatorSelection selection;
  for (const bool defaults : {true, false}) {
    torch::jit::Graph graph;
    const torch::jit::Node* node = detail::add_node(graph, schema, defaults);
    const c10::FunctionSchema* found = node->maybeSchema();
    if (found == nullptr || found->overload_name() != schema.overload_name()) continue;
    std::deque<BoxedOp> interpreted;
    std::vector<Refusal> refusals;
    const StaticModuleOptions options;
    const Selected selected = Selector(options, interpreted, refusals).select(*node);
    selection = {true, selected.kind, functor_name(selected)};
    return selection;
  }
  return selection;
}

}  // namespace sr
