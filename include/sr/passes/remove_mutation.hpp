// Makes in-place ops on temporaries functional, so that their results can be planned.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/remove_mutation.h>

#include <sr/graph/each_node.hpp>

namespace sr::passes {

namespace detail {

// In-place ops whose functional twin returns the dtype and shape of the written tensor and rejects the same
// arguments. Ops that promote dtypes or broadcast (add_, eq_, sigmoid_ on integers) are not among them: the
// in-place op keeps the dtype, or raises where the functional op returns another shape or dtype.
inline bool same_when_functional(torch::jit::Node* node) {
  static const std::array<c10::Symbol, 6> kinds = {
      c10::Symbol::fromQualString("aten::relu_"),      c10::Symbol::fromQualString("aten::hardtanh_"),
      c10::Symbol::fromQualString("aten::relu6_"),     c10::Symbol::fromQualString("aten::leaky_relu_"),
      c10::Symbol::fromQualString("aten::hardswish_"), c10::Symbol::fromQualString("aten::silu_")};
  return std::find(kinds.begin(), kinds.end(), node->kind()) != kinds.end();
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
