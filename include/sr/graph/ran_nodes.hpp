// Results of operators that a replay ran before it was deoptimized. The general path then answers the call
// and takes these results: an operator of which nothing is known must not run twice.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/graph/processed_node.hpp>

namespace sr {

// Belongs to one runtime.
class RanNodes {
 public:
  bool empty() const { return nodes_.empty(); }
  void clear() { nodes_.clear(); }

  void add(const torch::jit::Node* node, std::vector<c10::IValue> outputs) {
    nodes_.push_back({node, std::move(outputs)});
  }

  // Moves the node's first remaining results to its outputs. Returns false if none remain.
  bool take(NodeView& view) {
    for (Ran& ran : nodes_) {
      if (ran.node != &view.node()) continue;
      ran.node = nullptr;
      for (std::size_t i = 0; i < ran.outputs.size(); ++i) view.output(i) = std::move(ran.outputs[i]);
      return true;
    }
    return false;
  }

 private:
  struct Ran {
    const torch::jit::Node* node;  // null: taken
    std::vector<c10::IValue> outputs;
  };
  std::vector<Ran> nodes_;
};

}  // namespace sr
