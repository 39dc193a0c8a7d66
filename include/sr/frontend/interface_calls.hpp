// Turns calls through an interface into calls of the module that the attribute holds, which can be inlined.
#pragma once

#include <memory>
#include <optional>

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/assigned_attributes.hpp>
#include <sr/frontend/attribute_scope.hpp>
#include <sr/graph/each_node.hpp>

namespace sr::detail {

// The attributes that a method of the module or of one of its submodules sets, by name.
inline AssignedAttributes assigned_names(const torch::jit::Module& module) {
  AssignedAttributes assigned;
  for (const torch::jit::Module& part : module.modules()) {
    for (const torch::jit::Method& method : part.get_methods()) {
      const torch::jit::GraphFunction* function = torch::jit::tryToGraphFunction(method.function());
      if (function == nullptr) continue;
      each_node<Forks::enter>(function->graph()->block(), [&](const torch::jit::Node* node) {
        if (node->kind() == c10::prim::SetAttr) assigned.add_name(node->s(c10::attr::name));
      });
    }
  }
  return assigned;
}

// Gives each interface on which a method is called the class of the object in the attribute, also in the
// bodies of forks. Skips interfaces that the module assigns to. Returns whether it changed any.
inline bool resolve_interfaces(AttributeScope& top, torch::jit::Block* block) {
  bool resolved = false;
  each_node_in_scope(top, block, [&](AttributeScope& scope, torch::jit::Node* node) {
    if (node->kind() != c10::prim::CallMethod) return;
    torch::jit::Value* callee = node->input(0);
    if (callee->type()->kind() != c10::TypeKind::InterfaceType) return;
    const std::optional<c10::IValue> object = scope.object_of(callee);
    if (!object) return;
    callee->setType(object->type());
    resolved = true;
  });
  return resolved;
}

// `inline_calls()` must inline the calls of the graph, whose callees may call interfaces in turn. `module` is
// what the graph's first input stands for.
template <class InlineCalls>
void inline_interface_calls(const std::shared_ptr<torch::jit::Graph>& graph, const torch::jit::Module& module,
                            const InlineCalls& inline_calls) {
  constexpr int kDeepest = 100;  // a module that holds itself would call itself for ever
  const AssignedAttributes assigned = assigned_names(module);
  AttributeScope scope(graph, module._ivalue(), assigned);
  for (int depth = 0; depth < kDeepest && resolve_interfaces(scope, graph->block()); ++depth) inline_calls();
}

}  // namespace sr::detail
