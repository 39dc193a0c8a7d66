// Makes one step of each group of pointwise operations: what lies in iteration order is read and written
// where it is, what does not goes through scratch, and values nobody else reads never leave it.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include <sr/plan/fused_step.hpp>
#include <sr/plan/lowering.hpp>

namespace sr::plan {

// `is_kept[storage]`: somebody outside of the group reads it.
class Fusion {
 public:
  Fusion(Lowering& lowering, const std::vector<bool>& is_kept) : lowering_(lowering), is_kept_(is_kept) {}

  // What all groups need at once, known when the last one is finished.
  std::size_t scratch_floats() const { return most_slots_ * kTile; }

  void finish(const Group& group) {
    group_ = &group;
    step_ = std::make_unique<FusedStep>();
    order_dimensions();
    count_reads();
    slot_of_.clear();
    free_slots_.clear();
    slots_ = 0;
    std::size_t numbers = 0;
    for (const PointwiseOp& op : group.ops) {
      numbers += static_cast<std::size_t>(
          std::ranges::count_if(op.inputs, [](const auto& i) { return !i.operand; }));
    }
    step_->numbers.reserve(numbers);  // operands point into it
    for (const PointwiseOp& op : group.ops) add(op);
    step_->link();
    most_slots_ = std::max(most_slots_, slots_);
    Draft& draft = lowering_.drafts()[group.position];
    draft.step.run = &FusedStep::run;
    draft.step.payload = step_.get();
    std::erase_if(draft.reads, [&](StorageId storage) { return is_scratch_only(storage); });
    std::erase_if(draft.writes, [&](StorageId storage) { return !is_kept_[storage]; });
    lowering_.payloads().push_back(std::move(step_));
  }

 private:
  static constexpr std::size_t kExpandAtMost = std::size_t{1} << 14;  // elements of a constant spread out

  // Outermost first as the first result lies in memory, neighbours merged where no operand minds.
  void order_dimensions() {
    const Operand& first = group_->ops.front().out;
    order_.resize(first.rank());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(
        order_, [&](std::size_t a, std::size_t b) { return first.strides[a] > first.strides[b]; });
    std::erase_if(order_, [&](std::size_t d) { return first.sizes[d] == 1; });
    step_->count = first.count();
    merged_.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (i != 0 && std::ranges::all_of(group_->ops, [&](const PointwiseOp& op) { return merges(op, i); })) {
        merged_.back().push_back(order_[i]);
      } else {
        merged_.push_back({order_[i]});
      }
    }
    if (merged_.empty()) merged_.push_back({});
    step_->sizes.clear();
    for (const auto& dims : merged_) {
      std::int64_t size = 1;
      for (const std::size_t d : dims) size *= first.sizes[d];
      step_->sizes.push_back(size);
    }
    const kernels::Table& table = kernels::kernels().table;
    step_->copy = table.copy;
    step_->run_links = table.run_chain;
    step_->chain_block = table.block;
    step_->cut_into_tiles();
  }

  bool merges(const PointwiseOp& op, std::size_t i) const {
    const std::size_t outer = order_[i - 1], inner = order_[i];
    const std::int64_t size = group_->sizes[inner];
    if (op.out.strides[outer] != op.out.strides[inner] * size) return false;
    return std::ranges::all_of(op.inputs, [&](const PointwiseInput& input) {
      if (!input.operand || is_spread(*input.operand)) return true;
      const Dims strides = broadcast_strides(*input.operand, group_->sizes);
      return strides[outer] == strides[inner] * size;
    });
  }

  // Small constants that repeat are written out once, while the plan is made.
  bool is_spread(const Operand& operand) const {
    return lowering_.is_constant(operand) && operand.count() != 1 && step_->count <= kExpandAtMost &&
           operand.sizes != group_->sizes;
  }

  Dims iteration_strides(const Operand& operand) const {
    const Dims strides = broadcast_strides(operand, group_->sizes);
    Dims result;
    for (const auto& dims : merged_) result.push_back(dims.empty() ? 0 : strides[dims.back()]);
    return result;
  }

  bool in_order(const Dims& strides) const {
    std::int64_t expected = 1;
    for (std::size_t d = strides.size(); d-- > 0;) {
      if (step_->sizes[d] != 1 && strides[d] != expected) return false;
      expected *= step_->sizes[d];
    }
    return true;
  }

  bool is_scratch_only(StorageId storage) const {
    return !is_kept_[storage] &&
           std::ranges::any_of(group_->ops, [&](const PointwiseOp& op) { return op.out.storage == storage; });
  }

  // --- slots of scratch ---

  void count_reads() {
    reads_left_.clear();
    for (const PointwiseOp& op : group_->ops) {
      for (const PointwiseInput& input : op.inputs) {
        if (input.operand) ++reads_left_[key(*input.operand)];
      }
    }
  }

  // What one pass over the iteration space reads or makes.
  using Key = std::tuple<StorageId, std::int64_t, Dims>;
  Key key(const Operand& operand) const {
    return {operand.storage, operand.offset, iteration_strides(operand)};
  }

  std::uint32_t take_slot() {
    if (free_slots_.empty()) return static_cast<std::uint32_t>(slots_++);
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }

  TileOperand in_slot(std::uint32_t slot) const {
    return {{lowering_.scratch(), static_cast<std::int64_t>(slot * kTile * sizeof(float))}, 0};
  }

  // --- operations ---

  void add(const PointwiseOp& op) {
    TileOp tile;
    tile.operands = static_cast<std::uint32_t>(op.inputs.size());
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      bool is_scalar = false;
      tile.in[i] = read(op.inputs[i], is_scalar);
      tile.scalars |= static_cast<std::uint32_t>(is_scalar) << i;
    }
    tile.loop = op.lane->by_scalars[tile.scalars];
    tile.links = op.lane->links;
    for (const PointwiseInput& input : op.inputs) release(input);
    const Dims strides = iteration_strides(op.out);
    const bool kept = is_kept_[op.out.storage];
    if (kept && in_order(strides)) {
      tile.out = {lowering_.address(op.out), sizeof(float)};
      step_->ops.push_back(tile);
      return;
    }
    const std::uint32_t slot = take_slot();
    tile.out = in_slot(slot);
    step_->ops.push_back(tile);
    const Key result = key(op.out);
    if (kept) {
      TileOp scatter;
      scatter.operands = 1;
      scatter.in[0] = tile.out;
      scatter.out = {lowering_.address(op.out), 0};
      scatter.copy = step_->add_copy(strides, /*scatters=*/true);
      step_->ops.push_back(scatter);
    }
    if (reads_left_[result] == 0) {
      free_slots_.push_back(slot);
    } else {
      slot_of_[result] = slot;
    }
  }

  TileOperand read(const PointwiseInput& input, bool& is_scalar) {
    if (!input.operand) {
      is_scalar = true;
      step_->numbers.push_back(input.number);
      return {{lowering_.absolute(),
               static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&step_->numbers.back()))},
              0};
    }
    const Operand& operand = *input.operand;
    const Key wanted = key(operand);
    const auto slot = slot_of_.find(wanted);
    if (slot != slot_of_.end()) return in_slot(slot->second);
    if (is_spread(operand)) return {lowering_.address(spread(operand)), sizeof(float)};
    const Dims strides = iteration_strides(operand);
    if (step_->count > 1 && std::ranges::all_of(strides, [](std::int64_t stride) { return stride == 0; })) {
      is_scalar = true;
      return {lowering_.address(operand), 0};
    }
    if (in_order(strides)) return {lowering_.address(operand), sizeof(float)};
    const std::uint32_t loaded = take_slot();
    TileOp gather;
    gather.operands = 1;
    gather.in[0] = {lowering_.address(operand), 0};
    gather.out = in_slot(loaded);
    gather.copy = step_->add_copy(strides, /*scatters=*/false);
    step_->ops.push_back(gather);
    slot_of_[wanted] = loaded;
    return in_slot(loaded);
  }

  void release(const PointwiseInput& input) {
    if (!input.operand) return;
    const Key read = key(*input.operand);
    if (--reads_left_[read] != 0) return;
    const auto slot = slot_of_.find(read);
    if (slot == slot_of_.end()) return;
    free_slots_.push_back(slot->second);
    slot_of_.erase(slot);
  }

  // The constant as the iteration goes over it.
  Operand spread(const Operand& operand) {
    const Dims strides = broadcast_strides(operand, group_->sizes);
    at::Tensor all = at::empty({static_cast<std::int64_t>(step_->count)}, at::kFloat);
    kernels::StridedCopy shape;
    shape.width = sizeof(float);
    auto left = static_cast<std::int64_t>(step_->count);
    for (const std::size_t d : order_) {
      left /= group_->sizes[d];
      shape.sizes[shape.rank] = group_->sizes[d];
      shape.in_strides[shape.rank] = strides[d];
      shape.out_strides[shape.rank++] = left;
    }
    step_->copy(shape, lowering_.constant_data(operand), all.mutable_data_ptr<float>());
    return lowering_.literal({static_cast<std::int64_t>(step_->count)}, std::move(all));
  }

  Lowering& lowering_;
  const std::vector<bool>& is_kept_;
  std::size_t most_slots_ = 0;

  const Group* group_ = nullptr;
  std::unique_ptr<FusedStep> step_;
  std::vector<std::size_t> order_;                // dimensions, outermost first, without those of size 1
  std::vector<std::vector<std::size_t>> merged_;  // dimensions of the iteration space
  std::map<Key, std::uint32_t> reads_left_, slot_of_;
  std::vector<std::uint32_t> free_slots_;
  std::size_t slots_ = 0;
};

}  // namespace sr::plan
