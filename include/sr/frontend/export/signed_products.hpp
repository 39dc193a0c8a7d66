// Products of signed integers that torchao writes as products of unsigned ones, to suit a library: it adds
// 128 to the left side, and subtracts 128 times the sums of the right side's columns from the result.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <ATen/core/interned_strings.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

namespace sr::exported {

// The dtypes of tensors that the program states.
using Dtypes = std::unordered_map<const torch::jit::Value*, c10::ScalarType>;

namespace detail {

constexpr std::int64_t kInt8Offset = 128;

inline std::optional<std::int64_t> integer_at(const torch::jit::Node& node, std::size_t i) {
  if (i >= node.inputs().size()) return std::nullopt;
  const auto value = torch::jit::toIValue(node.input(i));
  return value && value->isInt() ? std::optional(value->toInt()) : std::nullopt;
}

inline bool is_call(const torch::jit::Node& node, const char* name) {
  return node.kind() == c10::Symbol::fromQualString(name);
}

inline bool is_cast(const torch::jit::Node& node) {
  return is_call(node, "aten::to") || is_call(node, "aten::_to_copy");
}

inline bool has_dtype(const Dtypes& dtypes, const torch::jit::Value* value, c10::ScalarType dtype) {
  const auto found = dtypes.find(value);
  return found != dtypes.end() && found->second == dtype;
}

// The int8 tensor x where `value` is uint8(int32(x) + 128); else null.
inline torch::jit::Value* before_offset(const torch::jit::Value* value, const Dtypes& dtypes) {
  const torch::jit::Node& narrowed = *value->node();
  if (!is_cast(narrowed) || !has_dtype(dtypes, value, at::kByte)) return nullptr;
  const torch::jit::Node& moved = *narrowed.input(0)->node();
  if (!is_call(moved, "aten::add") || integer_at(moved, 1) != kInt8Offset || integer_at(moved, 2) != 1 ||
      !has_dtype(dtypes, moved.output(), at::kInt))
    return nullptr;
  const torch::jit::Node& widened = *moved.input(0)->node();
  if (!is_cast(widened) || !has_dtype(dtypes, widened.output(), at::kInt)) return nullptr;
  return has_dtype(dtypes, widened.input(0), at::kChar) ? widened.input(0) : nullptr;
}

// True if `value` is 128 times the sums of the columns of `right`, in 32 bits.
inline bool is_correction(const torch::jit::Value* value, const torch::jit::Value* right,
                          const Dtypes& dtypes) {
  const torch::jit::Node& scaled = *value->node();
  if (!is_call(scaled, "aten::mul") || integer_at(scaled, 1) != kInt8Offset ||
      !has_dtype(dtypes, value, at::kInt))
    return false;
  const torch::jit::Node& sum = *scaled.input(0)->node();
  if (!is_call(sum, "aten::sum") || sum.inputs().size() < 3 || sum.input(0) != right ||
      !has_dtype(dtypes, sum.output(), at::kInt))
    return false;
  const auto dims = torch::jit::toIValue(sum.input(1));
  if (dims) return dims->isIntList() && dims->toIntList().vec() == std::vector<std::int64_t>{0};
  const torch::jit::Node& list = *sum.input(1)->node();
  return list.kind() == c10::prim::ListConstruct && list.inputs().size() == 1 && integer_at(list, 0) == 0;
}

}  // namespace detail

// Replaces them by products of signed integers, which have the same sums: both wrap around in 32 bits.
inline void use_signed_products(torch::jit::Block& block, const Dtypes& dtypes) {
  for (auto it = block.nodes().begin(); it != block.nodes().end();) {
    torch::jit::Node* const node = *it++;
    for (torch::jit::Block* inner : node->blocks()) use_signed_products(*inner, dtypes);
    const bool subtracts = detail::is_call(*node, "aten::sub_") || detail::is_call(*node, "aten::sub");
    if (!subtracts || detail::integer_at(*node, 2) != 1) continue;
    torch::jit::Node* const product = node->input(0)->node();
    if (!detail::is_call(*product, "aten::_int_mm") || product->output()->uses().size() != 1) continue;
    torch::jit::Value* const left = detail::before_offset(product->input(0), dtypes);
    if (left == nullptr || !detail::has_dtype(dtypes, product->input(1), at::kChar) ||
        !detail::is_correction(node->input(1), product->input(1), dtypes))
      continue;
    product->replaceInput(0, left);
    node->output()->replaceAllUsesWith(product->output());
    node->destroy();
  }
}

}  // namespace sr::exported
