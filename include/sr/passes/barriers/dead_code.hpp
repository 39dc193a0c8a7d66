// Keeps exactly the writes that the interpreter executes. LibTorch's elimination of dead code overlooks that
// a read of a container reads the tensors in it, and drops writes to a tensor that was put into one before.
// While passes run, writes that the interpreter keeps are read by a node with an effect; those that it drops
// are removed here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_set>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/canonicalize_graph_fuser_ops.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include <sr/graph/alias_rules.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/passes/barriers/opaque_branches.hpp>

namespace sr {

namespace detail {

class DeadCodeBarrier {
 public:
  // The graph must be inlined.
  DeadCodeBarrier(torch::jit::Graph& graph, OpaqueBranches& branches) : branches_(&branches) {
    number(graph.block());
    if (count_ == 0) return;
    hides_ = makes_container(graph.block());
    // The graph as the interpreter prepares it.
    const std::shared_ptr<torch::jit::Graph> interpreted = graph.copy();
    torch::jit::CanonicalizeOps(interpreted);
    torch::jit::EliminateDeadCode(interpreted);
    find_executed(interpreted->block());
    keep(graph.block());
  }

 private:
  static c10::Symbol number_name() {
    static const c10::Symbol name = c10::Symbol::attr("sr_write");
    return name;
  }

  static bool makes_container(const torch::jit::Block* block) {
    return any_node(block, [](const torch::jit::Node* node) {
      return (node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::DictConstruct ||
              node->kind() == c10::prim::TupleConstruct) &&
             std::ranges::any_of(node->inputs(), is_tensor);
    });
  }

  static bool is_tensor(const torch::jit::Value* value) {
    return value->type()->kind() == c10::TypeKind::TensorType;
  }

  void number(torch::jit::Block* block) {
    each_node(block, [&](torch::jit::Node* node) {
      const c10::FunctionSchema* schema = node->maybeSchema();
      if (schema != nullptr && schema->is_mutable()) node->i_(number_name(), ++count_);
    });
  }

  void find_executed(const torch::jit::Block* block) {
    each_node(block, [&](const torch::jit::Node* node) {
      if (node->hasAttribute(number_name())) executed_.insert(node->i(number_name()));
    });
  }

  void keep(torch::jit::Block* block) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      torch::jit::Node* node = *position++;
      for (torch::jit::Block* inner : node->blocks()) keep(inner);
      if (!node->hasAttribute(number_name())) continue;
      const bool executed = executed_.count(node->i(number_name())) != 0;
      node->removeAttribute(number_name());
      if (!executed) {
        drop(node);
      } else if (hides_) {
        observe(node);
      }
    }
  }

  // The users of its result, which is the written tensor, are dead as well.
  static void drop(torch::jit::Node* node) {
    if (node->outputs().size() > 1 || (node->outputs().size() == 1 && !is_tensor(node->output()))) return;
    if (node->outputs().size() == 1) node->output()->replaceAllUsesWith(node->input(0));
    node->destroy();
  }

  void observe(torch::jit::Node* node) {
    each_written(node->schema(), node->inputs().size(), [&](std::size_t i) {
      if (is_tensor(node->input(i))) branches_->observe(node->input(i), node);
    });
  }

  OpaqueBranches* branches_;
  bool hides_ = false;  // there are containers that tensors are put into
  std::int64_t count_ = 0;
  std::unordered_set<std::int64_t> executed_;
};

}  // namespace detail

}  // namespace sr
