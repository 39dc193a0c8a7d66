// Computes sizes with integers where a trace computes them with 0-dim tensors. torch.jit.trace records
// `x.size(0) * 4` as a product of two tensors, and reads the result by aten::Int. A plan for several sizes
// follows integers, but not the values of tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/passes/known_operators.hpp>

namespace sr::passes {

namespace detail {

class SizesInTensors {
 public:
  explicit SizesInTensors(const std::shared_ptr<torch::jit::Graph>& graph) : graph_(graph), aliases_(graph) {
    replace(graph->block());
  }

 private:
  using Value = torch::jit::Value;
  using Node = torch::jit::Node;

  static bool is_tensor(const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; }
  static bool is_int(const Value* value) { return value->type()->kind() == c10::TypeKind::IntType; }

  // The value of a constant that is an integer or a 0-dim tensor of int64.
  static std::optional<std::int64_t> constant(const Value* value) {
    const auto known = torch::jit::toIValue(value);
    if (!known) return std::nullopt;
    if (known->isInt()) return known->toInt();
    if (!known->isTensor() || !known->toTensor().defined()) return std::nullopt;
    const at::Tensor& tensor = known->toTensor();
    if (tensor.dim() != 0 || tensor.scalar_type() != at::kLong || !tensor.device().is_cpu())
      return std::nullopt;
    return tensor.item<std::int64_t>();
  }

  // The integer that a tensor holds, if it was computed from integers and nothing writes it. Returns null
  // otherwise. Adds nodes that compute the integer.
  Value* integer_of(Value* tensor) {
    if (!is_tensor(tensor)) return nullptr;
    const auto [known, is_new] = known_.try_emplace(tensor, nullptr);
    if (is_new && !aliases_.hasWriters(tensor)) {
      Value* const made = make_integer(tensor->node());
      known_[tensor] = made;
      return made;
    }
    return known->second;
  }

  Value* make_integer(Node* node) {
    if (node->kind() == c10::prim::NumToTensor) return is_int(node->input()) ? node->input() : nullptr;
    const bool divides = node->kind() == c10::aten::floor_divide;
    const bool adds = node->kind() == c10::aten::add || node->kind() == c10::aten::sub;
    if ((!divides && !adds && node->kind() != c10::aten::mul) || node->inputs().size() != (adds ? 3 : 2))
      return nullptr;
    if (adds && constant(node->input(2)) != 1) return nullptr;
    // A division by zero has another message.
    if (divides && constant(node->input(1)).value_or(0) == 0) return nullptr;
    const torch::jit::WithInsertPoint before(node);
    Value* const first = operand(node->input(0));
    Value* const second = operand(node->input(1));
    if (first == nullptr || second == nullptr) return nullptr;
    return graph_->insert(divides ? c10::aten::floordiv : node->kind(), {first, second});
  }

  // The integer that an operand is or holds. Returns null if it is no integer.
  Value* operand(Value* value) {
    if (is_int(value)) return value;
    if (const auto number = constant(value)) return graph_->insertConstant(*number);
    return integer_of(value);
  }

  void replace(torch::jit::Block* block) {
    for (auto position = block->nodes().begin(); position != block->nodes().end();) {
      Node* node = *position++;
      for (torch::jit::Block* inner : node->blocks()) replace(inner);
      const bool reads = node->kind() == c10::aten::Int || node->kind() == c10::aten::IntImplicit ||
                         node->kind() == c10::aten::ScalarImplicit;
      if (!reads || node->inputs().size() != 1) continue;
      Value* const integer = integer_of(node->input());
      if (integer == nullptr) continue;
      node->output()->replaceAllUsesWith(integer);
      node->destroy();
    }
  }

  std::shared_ptr<torch::jit::Graph> graph_;
  torch::jit::AliasDb aliases_;  // of the graph as it was; integers that were added alias nothing
  std::unordered_map<const Value*, Value*> known_;
};

}  // namespace detail

inline void replace_sizes_in_tensors(std::shared_ptr<torch::jit::Graph>& graph) {
  const bool has_any = sr::detail::any_node(
      graph->block(), [](const torch::jit::Node* node) { return node->kind() == c10::prim::NumToTensor; });
  if (has_any && all_operators_are_known(graph->block())) const detail::SizesInTensors replaced(graph);
}

}  // namespace sr::passes
