// Holds back LibTorch's elimination of common subexpressions where it would merge two results. The pass uses
// alias facts that are outdated after its first merge, and then merges values of which the caller gets both.
#pragma once

#include <cstdint>

#include <torch/csrc/jit/ir/ir.h>

#include <sr/passes/barriers/returned.hpp>

namespace sr {

namespace detail {

// Marks each node that makes a value which may be returned with a unique attribute: nodes with different
// attributes are not equal.
class CommonSubexpressionBarrier {
 public:
  CommonSubexpressionBarrier(torch::jit::Graph& graph, const Returned& returned) {
    mark(graph.block(), returned);
  }

  // Removes the marks from the graph that the passes have made.
  void remove(torch::jit::Graph& graph) const { remove(graph.block()); }

 private:
  static c10::Symbol mark_name() {
    static const c10::Symbol name = c10::Symbol::attr("sr_result");
    return name;
  }

  void mark(torch::jit::Block* block, const Returned& returned) {
    for (torch::jit::Node* node : block->nodes()) {
      for (torch::jit::Block* inner : node->blocks()) mark(inner, returned);
      if (!node->kind().is_aten()) continue;
      keep_transposed_twice(node, returned);
      for (const torch::jit::Value* output : node->outputs()) {
        if (returned.contains(output)) {
          node->i_(mark_name(), ++count_);
          break;
        }
      }
    }
  }

  // A peephole replaces x.t().t() by x; a caller who reshapes that result in place would reshape the
  // argument.
  static void keep_transposed_twice(torch::jit::Node* node, const Returned& returned) {
    if (node->kind() != c10::aten::t || !returned.contains(node->output()) ||
        node->input()->node()->kind() != c10::aten::t) {
      return;
    }
    torch::jit::Node* alias = node->owningGraph()->create(c10::aten::alias, {node->input()});
    alias->insertBefore(node);
    alias->output()->setType(node->input()->type());
    node->replaceInput(0, alias->output());
  }

  void remove(torch::jit::Block* block) const {
    for (torch::jit::Node* node : block->nodes()) {
      if (node->hasAttribute(mark_name())) node->removeAttribute(mark_name());
      for (torch::jit::Block* inner : node->blocks()) remove(inner);
    }
  }

  std::int64_t count_ = 0;
};

}  // namespace detail

}  // namespace sr
