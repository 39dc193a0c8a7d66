// Embedding tables whose elements are bytes, with a scale and a bias for each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/quantization/linear_layers.hpp>

namespace sr::quantization {

inline at::Tensor converted_table(const char* op, const at::Tensor& table) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(op, "");
  return handle.typed<at::Tensor(const at::Tensor&)>().call(table);
}
// From float32 [rows, columns] to uint8 [rows, columns + 8], and back.
inline at::Tensor to_bytes(const at::Tensor& table) {
  return converted_table("quantized::embedding_bag_byte_prepack", table);
}
inline at::Tensor from_bytes(const at::Tensor& table) {
  return converted_table("quantized::embedding_bag_byte_unpack", table);
}

using EmbeddingTable = UsedWeight;  // its weight is [rows, columns]

// The table of a node that sums or takes rows of a constant one, without what bytes do not have: means,
// maxima, padding, and the results that only training needs.
inline std::optional<at::Tensor> table_of(const torch::jit::Node& node) {
  const bool is_bag = node.kind() == c10::aten::embedding_bag;
  if (!is_bag && node.kind() != c10::aten::embedding) return std::nullopt;
  const std::optional<c10::IValue> value = torch::jit::toIValue(node.input(0));
  if (!value || !value->isTensor()) return std::nullopt;
  const at::Tensor& table = value->toTensor();
  if (!table.defined() || table.layout() != at::kStrided || table.dim() != 2 || table.numel() == 0 ||
      table.scalar_type() != at::kFloat) {
    return std::nullopt;
  }
  if (!is_bag) return table;
  const std::optional<c10::IValue> mode = torch::jit::toIValue(node.input(4));
  if (!mode || !mode->isInt() || mode->toInt() != 0) return std::nullopt;
  if (node.inputs().size() > 8 && !node.input(8)->mustBeNone()) return std::nullopt;
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    if (node.output(i)->hasUses()) return std::nullopt;
  }
  return table;
}

inline std::vector<EmbeddingTable> embedding_tables(
    torch::jit::Graph& graph, const std::unordered_map<const void*, std::string>& names) {
  return used_weights(graph, names, &table_of);
}

// LibTorch's operator for such tables, which takes them as plain tensors. An embedding is a bag for each
// index.
inline torch::jit::Value* insert_byte_rows(torch::jit::Graph& graph, torch::jit::Node& node,
                                           const at::Tensor& bytes) {
  const auto sum = c10::Symbol::fromQualString("quantized::embedding_bag_byte_rowwise_offsets");
  torch::jit::Value* const table = graph.insertConstant(bytes);
  const auto contiguous = [&](torch::jit::Value* tensor) {
    return graph.insert(c10::aten::contiguous, {tensor});
  };
  if (node.kind() == c10::aten::embedding_bag) {
    const torch::jit::NamedValue weights("per_sample_weights", node.inputs()[6]);
    const torch::jit::NamedValue include_last("include_last_offset", node.inputs()[7]);
    return graph.insert(sum, {table, contiguous(node.inputs()[1]), contiguous(node.inputs()[2])},
                        {weights, include_last});
  }
  const c10::List<std::int64_t> one_each({-1, 1}), columns({bytes.size(1) - 8});
  torch::jit::Value* const rows =
      graph.insert(sum, {table, contiguous(graph.insert(c10::aten::reshape, {node.inputs()[1], one_each}))});
  torch::jit::Value* const sizes =
      graph.insert(c10::aten::add, {graph.insert(c10::aten::size, {node.inputs()[1]}), columns});
  return graph.insert(c10::aten::reshape, {rows, sizes});
}

inline void replace(const EmbeddingTable& table, const at::Tensor& bytes) {
  for (torch::jit::Node* node : table.nodes) {
    const torch::jit::WithInsertPoint before(node);
    node->output(0)->replaceAllUsesWith(insert_byte_rows(*node->owningGraph(), *node, bytes));
    node->destroy();
  }
}

}  // namespace sr::quantization
