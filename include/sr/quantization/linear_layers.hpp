// The linear layers of a frozen graph: matrix products with a constant right-hand side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>

namespace sr::quantization {

// Where an operator has the operands of the product.
struct LinearOperator {
  std::size_t input = 0, weight = 1;
  std::optional<std::size_t> bias;
  bool is_transposed = false;  // the weight is [outputs, inputs]
};

// `name` is "aten::linear".
inline std::optional<LinearOperator> linear_operator(std::string_view name) {
  if (name == "aten::linear") return LinearOperator{.bias = 2, .is_transposed = true};
  if (name == "aten::mm" || name == "aten::matmul") return LinearOperator{};
  if (name == "aten::addmm") return LinearOperator{.input = 1, .weight = 2, .bias = 0};
  return std::nullopt;
}

// A constant of the graph, and the nodes that use it as their weight.
struct UsedWeight {
  at::Tensor weight;
  std::string name;
  std::vector<torch::jit::Node*> nodes;
};
using LinearLayer = UsedWeight;  // its weight is [outputs, inputs]

// Weights are known by the address of their first element: a constant of the graph is the tensor that
// operators are given.
inline const void* key_of(const at::Tensor& weight) {
  return weight.const_data_ptr();
}

inline bool is_one(const torch::jit::Value* number) {
  const std::optional<c10::IValue> value = torch::jit::toIValue(number);
  return value && value->isScalar() && value->toScalar().equal(1);
}

// The weight of a node that is a linear layer, as [outputs, inputs].
inline std::optional<at::Tensor> weight_of(const torch::jit::Node& node) {
  const std::optional<LinearOperator> op = linear_operator(node.kind().toQualString());
  if (!op || node.inputs().size() <= op->weight || node.outputs().size() != 1) return std::nullopt;
  if (node.kind() == c10::aten::addmm && !(is_one(node.input(3)) && is_one(node.input(4))))
    return std::nullopt;
  const std::optional<c10::IValue> value = torch::jit::toIValue(node.input(op->weight));
  if (!value || !value->isTensor()) return std::nullopt;
  const at::Tensor& weight = value->toTensor();
  if (!weight.defined() || weight.layout() != at::kStrided || weight.is_quantized() || weight.dim() != 2 ||
      weight.numel() == 0) {
    return std::nullopt;
  }
  return op->is_transposed ? weight : weight.t();
}

// The names of a module's tensors, without ".weight" at their ends.
inline std::unordered_map<const void*, std::string> names_of_weights(const torch::jit::Module& module) {
  std::unordered_map<const void*, std::string> names;
  for (const auto& attribute : module.named_attributes(/*recurse=*/true)) {
    if (!attribute.value.isTensor() || !attribute.value.toTensor().defined()) continue;
    const at::Tensor& tensor = attribute.value.toTensor();
    if (tensor.layout() != at::kStrided || tensor.numel() == 0) continue;
    constexpr std::string_view kEnd = ".weight";
    std::string name = attribute.name;
    if (name.ends_with(kEnd)) name.resize(name.size() - kEnd.size());
    names.emplace(key_of(tensor), std::move(name));
  }
  return names;
}

inline std::string line_of(const torch::jit::Node& node) {
  if (const auto place = node.sourceRange().file_line_col()) {
    const auto& [file, line, column] = *place;
    return file + ":" + std::to_string(line);
  }
  return "a " + std::string(node.kind().toQualString());
}

inline std::string name_of(const at::Tensor& weight, const torch::jit::Node& node,
                           const std::unordered_map<const void*, std::string>& names) {
  const auto name = names.find(key_of(weight));
  return name == names.end() ? line_of(node) : name->second;
}

// Two nodes may read one tensor in different ways.
inline bool has_same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides();
}

// In the order of the graph. `weight_of(node)` returns the weight that a node uses, if any.
template <class WeightOf>
std::vector<UsedWeight> used_weights(torch::jit::Graph& graph,
                                     const std::unordered_map<const void*, std::string>& names,
                                     const WeightOf& weight_of) {
  std::vector<UsedWeight> all;
  std::unordered_map<const void*, std::size_t> positions;
  sr::detail::each_node(graph.block(), [&](torch::jit::Node* node) {
    const std::optional<at::Tensor> weight = weight_of(*node);
    if (!weight) return;
    const auto [position, is_new] = positions.emplace(key_of(*weight), all.size());
    if (is_new) all.push_back({*weight, name_of(*weight, *node, names), {}});
    UsedWeight& known = all[position->second];
    if (has_same_layout(known.weight, *weight)) known.nodes.push_back(node);
  });
  return all;
}

inline std::vector<LinearLayer> linear_layers(torch::jit::Graph& graph,
                                              const std::unordered_map<const void*, std::string>& names) {
  return used_weights(graph, names, &weight_of);
}

}  // namespace sr::quantization
