// Replaces the warning counter of FBGEMM's bounds_check_indices by a temporary tensor. The operator
// adds to the counter when it finds an index out of range, which it then sets to 0. Models of torchrec keep
// the counter in a buffer, so that each call could change the module, and none could be replayed. The counter
// decides only how often the warning is printed.
#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>

namespace sr::passes {

inline void own_bounds_check_warnings(std::shared_ptr<torch::jit::Graph>& graph) {
  constexpr std::size_t kWarning = 4;  // bounds_check_indices(rows, indices, offsets, mode, warning, ...)
  static const c10::Symbol kind = c10::Symbol::fromQualString("fbgemm::bounds_check_indices");
  sr::detail::each_node(graph->block(), [&](torch::jit::Node* node) {
    if (node->kind() != kind || node->inputs().size() <= kWarning) return;
    const torch::jit::WithInsertPoint before(node);
    node->replaceInput(kWarning, graph->insert(c10::aten::zeros_like, {node->input(kWarning)}));
  });
}

}  // namespace sr::passes
