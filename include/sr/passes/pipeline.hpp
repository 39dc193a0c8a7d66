// The ordered list of all graph transformations. Each preserves the interpreter's results for every input
// that it accepts, and its exceptions for others.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/canonicalize.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/variadic_ops.h>

#include <sr/base/error.hpp>
#include <sr/passes/bounds_check_warnings.hpp>
#include <sr/passes/common_subexpressions.hpp>
#include <sr/passes/constant_bits.hpp>
#include <sr/passes/if_then_else.hpp>
#include <sr/passes/jagged_parts.hpp>
#include <sr/passes/no_op_slices.hpp>
#include <sr/passes/pass.hpp>
#include <sr/passes/remove_mutation.hpp>
#include <sr/passes/same_values.hpp>
#include <sr/passes/sizes_by_data.hpp>
#include <sr/passes/sizes_in_tensors.hpp>

namespace sr::passes {

namespace detail {

inline void fold_constants(std::shared_ptr<torch::jit::Graph>& graph) {
  torch::jit::ConstantPropagation(graph);
}

inline void pool_constants(std::shared_ptr<torch::jit::Graph>& graph) {
  mark_constants(*graph);  // earlier passes have added constants
  torch::jit::ConstantPooling(graph);
}

inline void use_variadic_ops(std::shared_ptr<torch::jit::Graph>& graph) {
  torch::jit::UseVariadicCat(graph);
  torch::jit::UseVariadicStack(graph);
}

}  // namespace detail

inline std::span<const Pass> pipeline() {
  using GraphPtr = std::shared_ptr<torch::jit::Graph>;
  static constexpr std::array kPasses = {
      Pass{"inline", "inlines calls", [](GraphPtr& graph) { torch::jit::Inline(*graph); }},
      Pass{"bounds_check_warnings", "counts warnings of FBGEMM's bounds checks in each call alone",
           &own_bounds_check_warnings},
      Pass{"constant_propagation", "computes what depends on constants only", &detail::fold_constants},
      Pass{"remove_mutation", "makes in-place ops on temporaries functional", &remove_mutation},
      Pass{"no_op_slices",
           "removes slices of everything in front of a slice that throws for the same tensors",
           &remove_no_op_slices},
      Pass{"sizes_in_tensors", "computes integers without the tensors that tracing puts them into",
           &replace_sizes_in_tensors},
      Pass{"constant_propagation_again", "computes what the passes so far have made constant",
           &detail::fold_constants},
      Pass{"constant_pooling", "merges constants with equal bits", &detail::pool_constants},
      Pass{"common_subexpressions", "eliminates common subexpressions", &eliminate_common_subexpressions},
      // Behind that pass, which would merge two results: the new nodes lose the marks of the barrier.
      Pass{"variadic_ops", "passes the operands of cat and stack without a list", &detail::use_variadic_ops},
      Pass{"jagged_parts", "reads parts of jagged features where they lie", &read_jagged_parts},
      Pass{"dead_code", "removes unused nodes",
           [](GraphPtr& graph) { torch::jit::EliminateDeadCode(graph); }},
      Pass{"canonicalize", "numbers values in order",
           [](GraphPtr& graph) { graph = torch::jit::Canonicalize(graph, true); }},
      Pass{"same_values", "uses a value that branches, loops and operators in place return as it is",
           &use_same_values, Stage::without_barriers},
      Pass{"if_then_else", "turns branches that only choose into one node", &use_if_then_else,
           Stage::without_barriers},
      Pass{"sizes_by_data", "puts what computes with sizes that data decide into a block",
           &split_at_sizes_by_data, Stage::last},
  };
  return kPasses;
}

// Throws ArgumentError for a name that is not a pass's.
inline void require_known(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(pipeline(), name, &Pass::name) != pipeline().end()) continue;
    std::string known;
    for (const Pass& pass : pipeline()) known.append(known.empty() ? "" : ", ").append(pass.name);
    throw ArgumentError("There is no pass '" + name + "' to leave out; there are " + known + ".");
  }
}

// The passes of one stage.
inline void run_pipeline(std::shared_ptr<torch::jit::Graph>& graph, const PassSettings& settings,
                         Stage stage) {
  for (const Pass& pass : pipeline()) {
    if (pass.stage != stage || std::ranges::find(settings.off, pass.name) != settings.off.end()) continue;
    const std::shared_ptr<torch::jit::Graph> before = settings.watch ? graph->copy() : nullptr;
    pass.run(graph);
    if (settings.watch) settings.watch(pass, *before, *graph);
  }
}

}  // namespace sr::passes
