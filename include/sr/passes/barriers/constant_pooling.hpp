// Undoes constant pooling for returned weights: LibTorch pools equal constants, and a caller would get the
// other one of two equal weights.
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/identity.hpp>
#include <sr/passes/barriers/attribute_values.hpp>

namespace sr {

namespace detail {

// Notes the weights that a graph returns unchanged, alone or in tuples and containers made for the results.
class ConstantPoolingBarrier {
 public:
  ConstantPoolingBarrier(const torch::jit::Graph& graph, const AttributeValues& value_of) {
    find(graph.return_node(), {}, value_of);
  }

  // Puts the weights back into the resulting graph, wherever the same place still holds a constant.
  void restore(torch::jit::Graph& graph) const {
    for (const Place& place : places_) restore(graph, place);
  }

 private:
  struct Place {
    std::vector<std::size_t> path;  // which input of the return node, which of the container there, ...
    at::Tensor weight;
  };

  static bool makes_container(const torch::jit::Node* node) {
    return node->kind() == c10::prim::TupleConstruct || node->kind() == c10::prim::ListConstruct ||
           node->kind() == c10::prim::DictConstruct;
  }

  void find(const torch::jit::Node* user, const std::vector<std::size_t>& path,
            const AttributeValues& value_of) {
    for (std::size_t i = 0; i < user->inputs().size(); ++i) {
      const torch::jit::Value* value = user->input(i);
      std::vector<std::size_t> here = path;
      here.push_back(i);
      if (makes_container(value->node())) {
        find(value->node(), here, value_of);
      } else if (const auto content = value_of(value); content && content->isTensor()) {
        places_.push_back({std::move(here), content->toTensor()});
      }
    }
  }

  static void restore(torch::jit::Graph& graph, const Place& place) {
    torch::jit::Node* user = graph.return_node();
    for (std::size_t i = 0; i + 1 < place.path.size(); ++i) {
      if (place.path[i] >= user->inputs().size()) return;
      user = user->input(place.path[i])->node();
      if (!makes_container(user)) return;
    }
    const std::size_t last = place.path.back();
    if (last >= user->inputs().size()) return;
    const auto now = torch::jit::toIValue(user->input(last));
    if (!now || !now->isTensor() || storage_of(now->toTensor()) == storage_of(place.weight)) return;
    const torch::jit::WithInsertPoint before(user);
    const auto weight = torch::jit::tryInsertConstant(
        graph, place.weight.requires_grad() ? place.weight.detach() : place.weight);
    if (weight) user->replaceInput(last, *weight);
  }

  std::vector<Place> places_;
};

}  // namespace detail

}  // namespace sr
