// All optimization barriers, which keep LibTorch's passes from changing what a caller can observe.
#pragma once

#include <unordered_set>
#include <utility>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/passes/barriers/alias_analysis_of_loops.hpp>
#include <sr/passes/barriers/attribute_values.hpp>
#include <sr/passes/barriers/common_subexpressions.hpp>
#include <sr/passes/barriers/constant_pooling.hpp>
#include <sr/passes/barriers/constant_propagation.hpp>
#include <sr/passes/barriers/convolution_dims.hpp>
#include <sr/passes/barriers/dead_code.hpp>
#include <sr/passes/barriers/opaque_branches.hpp>
#include <sr/passes/barriers/returned.hpp>

namespace sr {

namespace detail {

// Added to a graph before passes run, and removed from the resulting graph.
class Barriers {
 public:
  // `self` is the module that the graph's first input stands for, or None. The graph must be inlined, and
  // outlive the barriers.
  Barriers(torch::jit::Graph& graph, c10::IValue self)
      : value_of_(graph, std::move(self)),
        returned_(graph, value_of_),
        known_(returned_.identities()),  // now, as barriers destroy nodes
        constants_(graph, value_of_),
        distinct_(graph, returned_),
        branches_(graph) {
    const DeadCodeBarrier writes(graph, branches_);
    const ConvolutionDimsBarrier convolutions(graph, branches_);
    const LoopAliasBarrier loops(graph, value_of_, branches_);
    const ConstantPropagationBarrier computed(graph, value_of_, returned_, branches_);
  }
  Barriers(const Barriers&) = delete;
  Barriers& operator=(const Barriers&) = delete;

  // Removes them from the graph that the passes have made.
  void remove(torch::jit::Graph& graph) const {
    branches_.remove(graph);
    distinct_.remove(graph);
    constants_.restore(graph);
  }

  const AttributeValues& value_of() const { return value_of_; }
  const Returned& returned() const { return returned_; }
  // Storages and containers of the caller that a result may share.
  const std::unordered_set<const void*>& known() const { return known_; }

 private:
  AttributeValues value_of_;
  Returned returned_;
  std::unordered_set<const void*> known_;
  ConstantPoolingBarrier constants_;
  CommonSubexpressionBarrier distinct_;
  OpaqueBranches branches_;
};

}  // namespace detail

}  // namespace sr
