// Removes `x[:]` along a dimension, which tracing adds in front of every index but the first: `x[:, 2:]` is
// traced as a slice of everything and another slice. A slice throws for a tensor without that dimension, so
// it is removed only if its reader throws for the same tensors with the same message: a slice of that
// dimension or a later one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/passes/known_operators.hpp>

namespace sr::passes {

namespace detail {

class NoOpSlices {
 public:
  explicit NoOpSlices(const std::shared_ptr<torch::jit::Graph>& graph) : graph_(graph) {
    remove(graph->block());
  }

 private:
  static std::optional<std::int64_t> number(const torch::jit::Value* value) {
    const auto constant = torch::jit::toIValue(value);
    return constant && constant->isInt() ? std::optional(constant->toInt()) : std::nullopt;
  }

  // The dimension of a slice of everything, counted from the front.
  static std::optional<std::int64_t> dim_of_all(const torch::jit::Node* node) {
    if (node->kind() != c10::aten::slice || node->inputs().size() != 5) return std::nullopt;
    if (node->input(0)->type()->kind() != c10::TypeKind::TensorType) return std::nullopt;
    const auto dim = number(node->input(1)), step = number(node->input(4));
    const bool from_start = node->input(2)->mustBeNone() || number(node->input(2)) == 0;
    const bool to_end =
        node->input(3)->mustBeNone() || number(node->input(3)) == std::numeric_limits<std::int64_t>::max();
    return dim && *dim >= 0 && step == 1 && from_start && to_end ? dim : std::nullopt;
  }

  // True if the node throws for a first input without dimension `dim`.
  static bool needs_dim(const torch::jit::Node* node, std::int64_t dim) {
    if (node->kind() != c10::aten::slice) return false;
    const auto own = number(node->input(1));
    return own && *own >= dim;
  }

  bool is_removable(const torch::jit::Node* node) {
    const auto dim = dim_of_all(node);
    if (!dim || node->output()->uses().empty()) return false;
    // All readers must qualify: where the slice is returned or kept, it could be told apart from its input.
    for (const torch::jit::Use& use : node->output()->uses()) {
      if (use.offset != 0 || use.user->owningBlock() != node->owningBlock() || !needs_dim(use.user, *dim))
        return false;
    }
    if (aliases_ == nullptr) aliases_ = std::make_unique<torch::jit::AliasDb>(graph_);
    return !aliases_->hasWriters(node);
  }

  void remove(torch::jit::Block* block) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      torch::jit::Node* node = *position++;
      for (torch::jit::Block* inner : node->blocks()) remove(inner);
      if (!is_removable(node)) continue;
      node->output()->replaceAllUsesWith(node->input(0));
      node->destroy();
      aliases_.reset();
    }
  }

  std::shared_ptr<torch::jit::Graph> graph_;
  std::unique_ptr<torch::jit::AliasDb> aliases_;  // of the graph as it is; null: not asked for yet
};

}  // namespace detail

inline void remove_no_op_slices(std::shared_ptr<torch::jit::Graph>& graph) {
  if (!all_operators_are_known(graph->block())) return;
  const detail::NoOpSlices removed(graph);
}

}  // namespace sr::passes
