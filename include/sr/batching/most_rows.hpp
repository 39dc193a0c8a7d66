// How many rows a call of an exported program may have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <ATen/core/interned_strings.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

namespace sr::detail {

// The smallest bound of a size in that dimension of an argument (`Dim(..., max=)`), which the graph checks at
// its beginning; the largest number if there is none.
inline std::int64_t most_rows(const torch::jit::Graph& graph, std::int64_t dim) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const torch::jit::Node* const node : graph.nodes()) {
    if (node->kind() != c10::aten::le || node->inputs().size() != 2) continue;
    const torch::jit::Node* const size = node->input(0)->node();
    if (size->kind() != c10::aten::size || size->inputs().size() != 2 ||
        size->input(0)->node() != graph.param_node())
      continue;
    const auto of_dim = torch::jit::constant_as<std::int64_t>(size->input(1));
    const auto bound = torch::jit::constant_as<std::int64_t>(node->input(1));
    if (of_dim == dim && bound) most = std::min(most, *bound);
  }
  return most;
}

}  // namespace sr::detail
