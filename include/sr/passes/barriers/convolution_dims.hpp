// Keeps LibTorch's optimiser from folding the rank of a convolution's result: an image without a batch has
// one dimension less, and a convolution that is folded away cannot throw.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>
#include <sr/passes/barriers/opaque_branches.hpp>

namespace sr {

namespace detail {

// Hides the tensor whose rank is asked.
class ConvolutionDimsBarrier {
 public:
  ConvolutionDimsBarrier(torch::jit::Graph& graph, OpaqueBranches& branches) : branches_(&branches) {
    each_node(graph.block(), [&](torch::jit::Node* node) {
      if (node->kind() == c10::aten::dim && is_convolution(node->input()->node()->kind()))
        node->replaceInput(0, branches_->hidden(node->input(), node));
    });
  }

 private:
  static bool is_convolution(c10::Symbol kind) {
    return kind == c10::aten::conv1d || kind == c10::aten::conv2d || kind == c10::aten::conv3d;
  }

  OpaqueBranches* branches_;
};

}  // namespace detail

}  // namespace sr
