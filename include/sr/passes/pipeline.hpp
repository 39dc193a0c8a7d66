// The one ordered list of graph transformations. Each keeps the meaning the interpreter gives the graph, for
// every input it accepts and every input it refuses.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/canonicalize.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/remove_mutation.h>
#include <torch/csrc/jit/passes/variadic_ops.h>

namespace sr::passes {

struct Pass {
  std::string_view name;
  void (*run)(std::shared_ptr<torch::jit::Graph>& graph);
};

namespace detail {

// In-place ops whose functional twin gives the same dtype and shape as the tensor written and refuses the
// same arguments. Anything that promotes dtypes or broadcasts (add_, eq_, sigmoid_ on integers) is not: the
// in-place op keeps the dtype of the tensor or raises where the functional one returns something else.
inline bool same_when_functional(torch::jit::Node* node) {
  static const std::array<c10::Symbol, 6> kinds = {
      c10::Symbol::fromQualString("aten::relu_"),      c10::Symbol::fromQualString("aten::hardtanh_"),
      c10::Symbol::fromQualString("aten::relu6_"),     c10::Symbol::fromQualString("aten::leaky_relu_"),
      c10::Symbol::fromQualString("aten::hardswish_"), c10::Symbol::fromQualString("aten::silu_")};
  return std::find(kinds.begin(), kinds.end(), node->kind()) != kinds.end();
}

inline bool writes(const torch::jit::Block* block) {
  for (const torch::jit::Node* node : block->nodes()) {
    if (const c10::FunctionSchema* schema = node->maybeSchema(); schema != nullptr && schema->is_mutable()) {
      return true;
    }
    for (const torch::jit::Block* inner : node->blocks()) {
      if (writes(inner)) return true;
    }
  }
  return false;
}

inline void remove_mutation(std::shared_ptr<torch::jit::Graph>& graph) {
  if (!writes(graph->block())) return;
  torch::jit::RemoveListMutation(graph);
  torch::jit::RemoveTensorMutation(graph, same_when_functional);
}

inline void fold_constants(std::shared_ptr<torch::jit::Graph>& graph) {
  torch::jit::ConstantPropagation(graph);
}

inline void use_variadic_ops(std::shared_ptr<torch::jit::Graph>& graph) {
  torch::jit::UseVariadicCat(graph);
  torch::jit::UseVariadicStack(graph);
}

}  // namespace detail

inline std::span<const Pass> pipeline() {
  using GraphPtr = std::shared_ptr<torch::jit::Graph>;
  static constexpr std::array kPasses = {
      Pass{"inline", [](GraphPtr& graph) { torch::jit::Inline(*graph); }},
      Pass{"constant_propagation", &detail::fold_constants},
      Pass{"remove_mutation", &detail::remove_mutation},
      Pass{"variadic_ops", &detail::use_variadic_ops},
      Pass{"constant_propagation_again", &detail::fold_constants},
      Pass{"constant_pooling", [](GraphPtr& graph) { torch::jit::ConstantPooling(graph); }},
      Pass{"dead_code", [](GraphPtr& graph) { torch::jit::EliminateDeadCode(graph); }},
      Pass{"canonicalize", [](GraphPtr& graph) { graph = torch::jit::Canonicalize(graph, true); }},
  };
  return kPasses;
}

inline void run_pipeline(std::shared_ptr<torch::jit::Graph>& graph) {
  for (const Pass& pass : pipeline()) pass.run(graph);
}

}  // namespace sr::passes
