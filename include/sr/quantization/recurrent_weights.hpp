// Weights of recurrent networks as 8-bit integers with a scale for each row, which are multiplied as floats.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/graph/each_node.hpp>
#include <sr/quantization/linear_layers.hpp>

namespace sr::quantization {

// A matrix of a network's weights, [gates x units, features or units].
struct RecurrentWeight {
  at::Tensor matrix;
  std::string name;
};

// Holds a matrix as integers between -127 and 127. In each row, the largest absolute value becomes 127.
struct Int8Rows {
  at::Tensor values;  // like the matrix
  at::Tensor scale;   // float32 [rows, 1]

  at::Tensor floats() const { return values.to(at::kFloat) * scale; }
};

inline Int8Rows to_int8_rows(const at::Tensor& matrix) {
  const at::Tensor scale = (matrix.abs().amax({1}, /*keepdim=*/true) / 127.).clamp_min(1e-12);
  return {at::clamp(at::round(matrix / scale), -127, 127).to(at::kChar).contiguous(), scale};
}

// True if the operator is a recurrent network or a cell.
inline bool is_recurrent(const torch::jit::Node& node) {
  static const std::unordered_set<std::string_view> names{
      "aten::lstm",      "aten::gru",      "aten::rnn_tanh",      "aten::rnn_relu",
      "aten::lstm_cell", "aten::gru_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"};
  return names.count(node.kind().toQualString()) != 0;
}

// Calls visit(i) for each argument that is a weight, or the list of all weights.
template <class Visit>
void each_weight_input(const torch::jit::Node& node, const Visit& visit) {
  const std::vector<c10::Argument>& arguments = node.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i].name();
    if (name == "params" || name == "w_ih" || name == "w_hh") visit(i);
  }
}

// The values that a weight or a list of weights consists of; empty for a list that another operator makes. A
// constant list becomes one of constants, which are inserted before the node.
inline std::vector<torch::jit::Value*> parts_of(torch::jit::Node& node, std::size_t i) {
  torch::jit::Value* const input = node.input(i);
  if (input->type()->isSubtypeOf(*c10::TensorType::get())) return {input};
  if (input->node()->kind() == c10::prim::ListConstruct) return input->node()->inputs().vec();
  const std::optional<c10::IValue> list = torch::jit::toIValue(input);
  if (!list || !list->isTensorList()) return {};
  const torch::jit::WithInsertPoint before(&node);
  std::vector<torch::jit::Value*> parts;
  for (const at::Tensor& tensor : list->toTensorVector())
    parts.push_back(node.owningGraph()->insertConstant(tensor));
  return parts;
}

// The matrix that a part is, if it can be quantized.
inline std::optional<at::Tensor> matrix_of(const torch::jit::Value* part) {
  const std::optional<c10::IValue> value = torch::jit::toIValue(part);
  if (!value || !value->isTensor()) return std::nullopt;
  const at::Tensor& tensor = value->toTensor();
  if (!tensor.defined() || tensor.layout() != at::kStrided || tensor.scalar_type() != at::kFloat ||
      tensor.dim() != 2 || tensor.numel() == 0)
    return std::nullopt;
  return tensor;
}

// In the order of the graph.
inline std::vector<RecurrentWeight> recurrent_weights(
    torch::jit::Graph& graph, const std::unordered_map<const void*, std::string>& names) {
  std::vector<RecurrentWeight> all;
  std::unordered_set<const void*> seen;
  sr::detail::each_node(graph.block(), [&](torch::jit::Node* node) {
    if (!is_recurrent(*node)) return;
    each_weight_input(*node, [&](std::size_t i) {
      for (const torch::jit::Value* part : parts_of(*node, i)) {
        const std::optional<at::Tensor> matrix = matrix_of(part);
        if (matrix && seen.insert(key_of(*matrix)).second)
          all.push_back({*matrix, name_of(*matrix, *node, names)});
      }
    });
  });
  return all;
}

// Replaces weight matrices of the graph's recurrent operators by dequantized int8 rows. `quantized` maps the
// key of a float matrix (see key_of) to its int8 rows.
inline void replace(torch::jit::Graph& graph, const std::unordered_map<const void*, Int8Rows>& quantized) {
  const auto dequantized = [&](torch::jit::Node& node, torch::jit::Value* part) {
    const std::optional<at::Tensor> matrix = matrix_of(part);
    const auto found = matrix ? quantized.find(key_of(*matrix)) : quantized.end();
    if (found == quantized.end()) return part;
    const torch::jit::WithInsertPoint before(&node);
    torch::jit::Value* const values = graph.insertConstant(found->second.values);
    torch::jit::Value* const floats =
        graph.insert(c10::aten::to, {values, static_cast<int>(c10::ScalarType::Float)});
    return graph.insert(c10::aten::mul, {floats, graph.insertConstant(found->second.scale)});
  };
  sr::detail::each_node(graph.block(), [&](torch::jit::Node* node) {
    if (!is_recurrent(*node)) return;
    each_weight_input(*node, [&](std::size_t i) {
      std::vector<torch::jit::Value*> parts = parts_of(*node, i);
      for (torch::jit::Value*& part : parts) part = dequantized(*node, part);
      if (parts.empty()) return;
      if (node->input(i)->type()->isSubtypeOf(*c10::TensorType::get())) {
        node->replaceInput(i, parts[0]);
        return;
      }
      torch::jit::Node* const list = graph.createList(c10::TensorType::get(), parts);
      list->insertBefore(node);
      node->replaceInput(i, list->output());
    });
  });
}

}  // namespace sr::quantization
