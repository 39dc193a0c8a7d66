// Copies a module together with what its calls have written so far.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/frontend/loaded_graph.hpp>
#include <sr/frontend/private_self.hpp>
#include <sr/frontend/written_weights.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/module/module_state.hpp>
#include <sr/module/prepared_module.hpp>

namespace sr::detail {

// Replaces constants that `copies` copies by their copies.
inline void copy_constants(torch::jit::Graph& graph, FreshCopies& copies) {
  each_node<Forks::enter>(graph.block(), [&](torch::jit::Node* node) {
    if (node->kind() != c10::prim::Constant || !node->hasAttribute(c10::attr::value)) return;
    if (node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t) {
      node->t_(c10::attr::value, copies(node->t(c10::attr::value)).toTensor());
    } else if (node->kindOf(c10::attr::value) == torch::jit::AttributeKind::ival) {
      node->ival_(c10::attr::value, copies(node->ival(c10::attr::value)));
    }
  });
}

// The graph of a module with state, with copies of what it may write. `weights` and `entries` describe its
// weights, which the copy shares. Throws BusyError if a call of the module is running.
inline LoadedGraph copy_with_state(const PreparedModule& module, const std::vector<Weight>& weights,
                                   const std::optional<std::vector<StateEntry>>& entries) {
  const StateUse use(module.state.get());
  LoadedGraph copy{module.graph->copy(), module.schema, c10::IValue(), module.state->known()};
  const WrittenWeights written(module.graph, module.self);
  FreshCopies copies(written.identities());
  copy_constants(*copy.graph, copies);
  copy.variables = module.state->variables(copies);
  for (const StateVariable& variable : copy.variables) add_identities(variable.own, copy.known);
  if (!module.self.isNone()) copy.self = private_self(module.self, *copy.graph, copies);
  for (const Weight& weight : weights) copy.weights.push_back(weight.source);
  copy.state = entries;
  for (const c10::IValue& constant : module.constants) {
    if (constant.isTensor() && constant.toTensor().defined() && constant.toTensor().requires_grad())
      copy.with_gradients.insert(identity_of_elements(constant.toTensor()));
  }
  return copy;
}

// The module with a copy of the state; the module itself if it has none. Throws BusyError if a call is
// running.
inline std::shared_ptr<const PreparedModule> with_own_state(
    const std::shared_ptr<const PreparedModule>& module) {
  if (module->state == nullptr) return module;
  std::shared_ptr<const PreparedModule> made;
  module->weights->copy_into([&](const auto& weights, const auto& entries) -> ModuleWeights& {
    made =
        std::make_shared<const PreparedModule>(copy_with_state(*module, weights, entries), module->options);
    return *made->weights;
  });
  return made;
}

}  // namespace sr::detail
