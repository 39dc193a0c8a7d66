// Marks the rest of a graph, from the first node on that needs data-dependent sizes. It is the first block of
// a prim::If whose condition is true, so that replays record and run it as a separate call.
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
