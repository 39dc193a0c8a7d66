// Makes in-place ops on temporaries functional, so that their results can be planned.
#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include <sr/graph/each_node.hpp>
#include <sr/graph/operator_facts.hpp>

namespace sr::passes {

namespace detail {

inline bool same_when_functional(torch::jit::Node* node) {
  return has_fact(node->kind(), Fact::same_when_functional);
}

inline bool writes(const torch::jit::Block* block) {
  return sr::detail::any_node(block, [](const torch::jit::Node* node) {
    const c10::FunctionSchema* schema = node->maybeSchema();
    return schema != nullptr && schema->is_mutable();
  });
}

}  // namespace detail

inline void remove_mutation(std::shared_ptr<torch::jit::Graph>& graph) {
  if (!detail::writes(graph->block())) return;
  torch::jit::RemoveListMutation(graph);
  torch::jit::RemoveTensorMutation(graph, detail::same_when_functional);
}

}  // namespace sr::passes
