// Finds integers of a graph that are elements of a tensor of lengths, or sums of such elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

namespace sr::passes::detail {

// Maps integers of the graph to the lengths of which they are the sum.
class LengthSums {
 public:
  struct Range {
    std::int64_t begin = 0, end = 0;
  };

  // `lengths` must be what `list` holds: Int(unbind(lengths)[0]), Int(unbind(lengths)[1]) and so on, or
  // tolist(lengths). Returns nothing for another list.
  static std::optional<LengthSums> of(torch::jit::Value* list) {
    LengthSums sums;
    torch::jit::Node& node = *list->node();
    static const c10::Symbol tolist = c10::Symbol::fromQualString("prim::tolist");
    if (node.kind() == tolist && node.input(0)->type()->kind() == c10::TypeKind::TensorType) {
      sums.lengths = node.input(0);
      return sums;
    }
    if (node.kind() != c10::prim::ListConstruct || node.inputs().empty()) return std::nullopt;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      torch::jit::Node& item = *node.input(i)->node();
      if ((item.kind() != c10::aten::Int && item.kind() != c10::aten::item) || item.inputs().size() != 1)
        return std::nullopt;
      torch::jit::Node& unpack = *item.input()->node();
      if (unpack.kind() != c10::prim::ListUnpack || item.input()->offset() != i ||
          unpack.outputs().size() != node.inputs().size())
        return std::nullopt;
      torch::jit::Node& unbind = *unpack.input()->node();
      if (unbind.kind() != c10::aten::unbind || torch::jit::toIValue(unbind.input(1)) != c10::IValue(0))
        return std::nullopt;
      if (sums.lengths != nullptr && sums.lengths != unbind.input(0)) return std::nullopt;
      sums.lengths = unbind.input(0);
      sums.sums_[node.input(i)] = {static_cast<std::int64_t>(i)};
    }
    return sums;
  }

  // Records the result of the node if it adds two sums that have no length in common. They come in any
  // order: sums are sorted by name, u0 + u1 + u10 + u2.
  void note_sum(const torch::jit::Node& node) {
    if (node.kind() != c10::aten::add || node.inputs().size() != 2) return;
    const auto left = sums_.find(node.input(0)), right = sums_.find(node.input(1));
    if (left == sums_.end() || right == sums_.end()) return;
    std::vector<std::int64_t> all;
    std::ranges::merge(left->second, right->second, std::back_inserter(all));
    if (std::ranges::adjacent_find(all) == all.end()) sums_.emplace(node.output(), std::move(all));
  }
  // Returns the range of lengths of which the value is the sum. Returns nullopt if the value is not such a
  // sum, or if the lengths are not consecutive.
  std::optional<Range> find(const torch::jit::Value* value) const {
    const auto found = sums_.find(value);
    if (found == sums_.end()) return std::nullopt;
    const std::vector<std::int64_t>& all = found->second;
    const Range range{all.front(), all.back() + 1};
    return range.end - range.begin == static_cast<std::int64_t>(all.size()) ? std::optional(range)
                                                                            : std::nullopt;
  }

  torch::jit::Value* lengths = nullptr;

 private:
  std::unordered_map<const torch::jit::Value*, std::vector<std::int64_t>>
      sums_;  // numbers of lengths, sorted
};

}  // namespace sr::passes::detail
