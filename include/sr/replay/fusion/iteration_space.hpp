// The dimensions that all operations of a group iterate over, and the strides of operands along them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/trace/operand.hpp>

namespace sr::replay {

// The group must outlive it.
class IterationSpace {
 public:
  // Dimensions in the memory order of the first result, outermost first. Neighbours are merged where the
  // strides of all operands allow it. minds(operand): whether the operand is read in place, so that its
  // strides count.
  template <class Minds>
  IterationSpace(const Group& group, const Minds& minds) : group_(&group) {
    const Operand& first = group.ops.front().out;
    count_ = first.count();
    order_.resize(first.rank());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(
        order_, [&](std::size_t a, std::size_t b) { return first.strides[a] > first.strides[b]; });
    std::erase_if(order_, [&](std::size_t d) { return first.sizes[d] == 1; });
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (i != 0 && merges(i, minds)) {
        merged_.back().push_back(order_[i]);
      } else {
        merged_.push_back({order_[i]});
      }
    }
    if (merged_.empty()) merged_.push_back({});
    for (const auto& dims : merged_) {
      Size size = 1;
      for (const std::size_t d : dims) size *= first.sizes[d];
      sizes_.push_back(size);
    }
  }

  const Size& count() const { return count_; }
  const Dims& sizes() const { return sizes_; }
  const std::vector<std::size_t>& order() const { return order_; }  // dimensions before they were merged

  Dims strides(const Operand& operand) const {
    const Dims all = broadcast_strides(operand, group_->sizes);
    Dims result;
    for (const auto& dims : merged_) result.push_back(dims.empty() ? Size(0) : all[dims.back()]);
    return result;
  }

  // True if the elements lie in memory in the order of iteration.
  bool in_order(const Dims& strides) const {
    Size expected = 1;
    for (std::size_t d = strides.size(); d-- > 0;) {
      if (sizes_[d] != 1 && !Size::always_equal(strides[d], expected)) return false;
      expected *= sizes_[d];
    }
    return true;
  }
  bool in_order(const Operand& operand) const { return in_order(strides(operand)); }

 private:
  template <class Minds>
  bool merges(std::size_t i, const Minds& minds) const {
    const std::size_t outer = order_[i - 1], inner = order_[i];
    const bool ends_rows = std::ranges::any_of(group_->rows, [&](const GroupRows& rows) {
      const std::size_t begin = group_->sizes.size() - rows.row_rank;
      return outer < begin && begin <= inner;
    });
    if (ends_rows) return false;
    const auto is_even = [&](const Dims& strides) {
      return Size::always_equal(strides[outer], strides[inner] * group_->sizes[inner]);
    };
    return std::ranges::all_of(group_->ops, [&](const PointwiseOp& op) {
      return is_even(op.out.strides) && std::ranges::all_of(op.inputs, [&](const PointwiseInput& input) {
               return !input.operand || !minds(*input.operand) ||
                      is_even(broadcast_strides(*input.operand, group_->sizes));
             });
    });
  }

  const Group* group_;
  Size count_;
  std::vector<std::size_t> order_;                // outermost first, without those of size 1
  std::vector<std::vector<std::size_t>> merged_;  // dimensions of the iteration space
  Dims sizes_;
};

}  // namespace sr::replay
