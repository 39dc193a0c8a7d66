// Eliminates common subexpressions.
#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/common_subexpression_elimination.h>

#include <sr/passes/known_operators.hpp>

namespace sr::passes {

inline void eliminate_common_subexpressions(std::shared_ptr<torch::jit::Graph>& graph) {
  if (all_operators_are_known(graph->block())) torch::jit::EliminateCommonSubexpression(graph);
}

}  // namespace sr::passes
