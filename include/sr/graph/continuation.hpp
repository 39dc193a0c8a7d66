// The rest of a block, which needs sizes that data decide: a branch that is always taken, so that it is
// recorded and replayed as a call of its own.
#pragma once

#include <string>

#include <torch/csrc/jit/ir/ir.h>

namespace sr {

namespace detail {

inline c10::Symbol continuation_mark() {
  static const c10::Symbol mark = c10::Symbol::attr("continues");
  return mark;
}

}  // namespace detail

// True if the node is such a branch. Its first block holds the nodes.
inline bool is_continuation(const torch::jit::Node& node) {
  return node.kind() == c10::prim::If && node.hasAttribute(detail::continuation_mark());
}

}  // namespace sr
