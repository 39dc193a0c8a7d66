// The layout of the result of einsum(equation, operands, path) for one operand or two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <sr/ops/matmul/einsum_equation.hpp>
#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/reshape.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// A batched product of matrices, as sumproduct_pair of ATen/native/Linear.cpp arranges it: first the
// dimensions that both operands have, then those of the left one, then those of the right one; or the right
// one first, if all its dimensions come before those of the left one in the result.
inline bool einsum_product(LayoutRule& rule, const TensorLayout& left, const TensorLayout& right,
                           const Dims& sizes) {
  std::vector<std::size_t> both, of_left, of_right;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const bool in_left = left.sizes[d] != 1, in_right = right.sizes[d] != 1;
    (in_left && in_right ? both : in_left ? of_left : of_right).push_back(d);
  }
  if (!of_left.empty() && !of_right.empty() && of_right.back() < of_left.front())
    std::swap(of_left, of_right);
  both.insert(both.end(), of_left.begin(), of_left.end());
  both.insert(both.end(), of_right.begin(), of_right.end());
  Dims in_memory, strides = sizes;
  for (const std::size_t d : both) in_memory.push_back(sizes[d]);
  in_memory = dense_strides(in_memory);
  for (std::size_t i = 0; i < both.size(); ++i) strides[both[i]] = in_memory[i];
  rule.fresh({sizes, std::move(strides), 0});
  return true;
}

inline bool einsum(LayoutRule& rule) {
  const std::vector<TensorLayout>& operands = rule.tensors(1);
  std::vector<std::size_t> ranks(operands.size());
  std::ranges::transform(operands, ranks.begin(), [](const TensorLayout& one) { return one.sizes.size(); });
  const auto equation = read_einsum(rule.value(0).toStringRef(), ranks);
  if (!equation || operands.empty() || operands.size() > 2) return false;
  const Labels &result = equation->result, &first = equation->operands[0];
  const TensorLayout left = arranged(operands[0], first, result);
  if (operands.size() == 1) {
    if (first.size() == result.size()) rule.view(1, left);
    return first.size() == result.size();
  }
  const Labels& second = equation->operands[1];
  const TensorLayout right = arranged(operands[1], second, result);
  const Labels summed = those(first, [&](int label) { return !has(result, label); });
  const auto is_summed_alone = [&](int label) { return !has(result, label) && !has(first, label); };
  if (std::ranges::any_of(second, is_summed_alone)) return false;
  const Dims sizes = broadcast(left.sizes, right.sizes);
  if (!summed.empty()) {
    for (const int label : summed) {
      if (!has(second, label)) return false;
      const Size a = arranged(operands[0], first, {label}).sizes[0],
                 b = arranged(operands[1], second, {label}).sizes[0];
      if (a == 1 || !require(a == b)) return false;
    }
    return einsum_product(rule, left, right, sizes);
  }
  if (!is_in_order(left) || !is_in_order(right)) return false;
  rule.dense(sizes);
  return true;
}

}  // namespace sr::replay::layouts
