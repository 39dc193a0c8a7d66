// Makes one step of each group of pointwise operations. Operands of the type that the group computes in, in
// iteration order, are read and written where they are. All others go through scratch; results that no other
// step reads stay there.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/fusion/fused_constants.hpp>
#include <sr/replay/fusion/iteration_space.hpp>
#include <sr/replay/fusion/scratch_slots.hpp>
#include <sr/replay/fusion/tile_ops.hpp>
#include <sr/replay/fusion/tiles_apart.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/fused_step.hpp>

namespace sr::replay {

// `is_kept[storage]`: a step outside of the group, or the caller, reads the storage.
class Fusion {
 public:
  Fusion(Lowering& lowering, const std::vector<bool>& is_kept) : lowering_(lowering), is_kept_(is_kept) {}

  // The scratch that all groups need together; known when the last one is finished.
  std::size_t scratch_floats() const { return most_bytes_ / sizeof(float); }

  void finish(Group& group) {
    group_ = &group;
    step_ = std::make_unique<FusedStep>();
    space_.emplace(group, [&](const Operand& operand) { return !is_spread(operand); });
    set_up_step();
    count_reads();
    ones_.clear();
    spread_.clear();
    slot_bytes_ = kTile * detail::widest_element(group);
    std::size_t numbers = 0;
    for (const PointwiseOp& op : group.ops) {
      numbers += static_cast<std::size_t>(
          std::ranges::count_if(op.inputs, [](const auto& i) { return !i.operand; }));
    }
    step_->numbers->reserve(numbers);  // operands point into it
    for (const PointwiseOp& op : group.ops) add(op);
    for (GroupRows& rows : group.rows) add_tail(rows);
    step_->link();
    step_->may_be_cut = detail::tiles_are_apart(*step_, lowering_.scratch());
    step_->scratch_base = lowering_.scratch();
    step_->scratch_floats = slots_.count() * slot_bytes_ / sizeof(float);
    most_bytes_ = std::max(most_bytes_, slots_.count() * slot_bytes_);
    note_images();
    Draft& draft = lowering_.drafts()[group.position];
    draft.step.run = &FusedStep::run;
    draft.step.payload = step_.get();
    std::erase_if(draft.reads, [&](StorageId storage) { return is_scratch_only(storage); });
    std::erase_if(draft.writes, [&](StorageId storage) { return !is_kept_[storage]; });
    lowering_.payloads().push_back(std::move(step_));
  }

 private:
  static constexpr std::size_t kExpandAtMost = std::size_t{1} << 14;  // elements of a constant spread out

  void set_up_step() {
    step_->sizes_of = space_->sizes();
    const kernels::Table& table = kernels::kernels().table;
    step_->copy = table.copy;
    step_->run_links = table.run_chain;
    step_->chain_block = table.block;
    step_->chain_least = table.width;
    step_->cut_into_tiles();
  }

  // True if a small constant that repeats is expanded once, when the program is built, for all elements. One
  // that repeats along rows of a tile or less is expanded for one tile, which stays in the first-level cache.
  bool is_spread(const Operand& operand) const {
    const Size count = group_->ops.front().out.count();
    return lowering_.is_constant(operand) && is_native(operand) && operand.count() != 1 &&
           count.is_constant() && count <= kExpandAtMost && operand.sizes != group_->sizes &&
           (count <= kTile || row_of(operand) > kTile);
  }

  // The elements of the trailing dimensions outside of which the operand repeats.
  Size row_of(const Operand& operand) const {
    const Dims strides = broadcast_strides(operand, group_->sizes);
    std::size_t first = 0;
    while (first < strides.size() && strides[first] == 0) ++first;
    return product_of(c10::ArrayRef<Size>(group_->sizes).slice(first));
  }

  // True if a constant that repeats from tile to tile is expanded for one tile.
  bool is_spread_over_tile(const Operand& operand, const Dims& strides) const {
    const auto inside = static_cast<std::ptrdiff_t>(step_->split) + 1;
    return lowering_.is_constant(operand) && is_native(operand) && operand.count() != 1 &&
           !(space_->count().is_constant() && space_->count() <= kTile) &&
           std::all_of(strides.begin(), strides.begin() + inside,
                       [](const Size& stride) { return stride == 0; }) &&
           std::all_of(space_->sizes().begin() + inside, space_->sizes().end(),
                       [](const Size& size) { return size.is_constant(); });
  }

  bool is_scratch_only(StorageId storage) const {
    return !is_kept_[storage] &&
           std::ranges::any_of(group_->ops, [&](const PointwiseOp& op) { return op.out.storage == storage; });
  }

  void count_reads() {
    slots_.clear();
    for (const PointwiseOp& op : group_->ops) {
      for (const PointwiseInput& input : op.inputs) {
        if (input.operand) slots_.expect_read(key(*input.operand));
      }
    }
    for (const GroupRows& rows : group_->rows) slots_.expect_read(key(rows.in));
  }

  // Tells the step what it accesses of each image, if it works on images.
  void note_images() {
    const Dims& sizes = group_->sizes;
    if (sizes.size() != 4 || !group_->rows.empty() || space_->order().empty() ||
        space_->order().front() != 0 || sizes[0].recorded() == 0 || varies({sizes.begin() + 1, sizes.end()}))
      return;
    step_->outer_of_image = space_->sizes()[0].recorded() / sizes[0].recorded();
    if (!Size::always_equal(step_->outer_of_image * sizes[0], space_->sizes()[0])) return;
    ImageAccesses images{.images = sizes[0], .all = {}};
    for (const PointwiseOp& op : group_->ops) {
      for (const PointwiseInput& input : op.inputs) {
        if (input.operand && !add_access(*input.operand, /*writes=*/false, images)) return;
      }
      if (!add_access(op.out, /*writes=*/true, images)) return;
    }
    step_->accesses = std::make_shared<const ImageAccesses>(std::move(images));
  }
  // Returns false if the images of the operand are not evenly apart.
  bool add_access(const Operand& operand, bool writes, ImageAccesses& images) const {
    if (is_scratch_only(operand.storage)) return true;
    const Dims strides = broadcast_strides(operand, group_->sizes);
    if (varies(strides)) return false;
    if (lowering_.is_constant(operand)) return strides[0] == 0;
    std::int64_t count = 1;
    for (std::size_t d = 1; d < strides.size(); ++d)
      count += (group_->sizes[d].recorded() - 1) * strides[d].recorded();
    images.add(lowering_.address(operand), count, strides[0].recorded(), writes,
               c10::elementSize(operand.dtype));
    return true;
  }

  using Key = ScratchSlots::Key;
  Key key(const Operand& operand) const {
    std::vector<Size::Identity> lies{operand.offset.identity()};
    for (const Size& stride : space_->strides(operand)) lies.push_back(stride.identity());
    return {operand.storage, operand.dtype, std::move(lies)};
  }

  // True if the operand has the type that the group computes in.
  bool is_native(const Operand& operand) const { return operand.dtype == group_->type; }

  TileOperand in_slot(std::uint32_t slot) const {
    return {{lowering_.scratch(), static_cast<std::int64_t>(slot * slot_bytes_)}, 0};
  }

  void add(const PointwiseOp& op) {
    if (add_as_conversion(op)) return;
    TileOp tile;
    tile.operands = static_cast<std::uint32_t>(op.inputs.size());
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      bool is_scalar = false;
      tile.in[i] = read(op.inputs[i], is_scalar);
      tile.scalars |= static_cast<std::uint32_t>(is_scalar) << i;
    }
    if (op.compute.vector_op != nullptr) {
      tile.loop = op.compute.vector_op->by_scalars[tile.scalars];
      tile.links = op.compute.vector_op->links;
    } else {
      tile.loop64 = op.compute.loops64->by_scalars[tile.scalars];
    }
    for (const PointwiseInput& input : op.inputs) {
      if (input.operand) slots_.note_read(key(*input.operand));
    }
    const bool kept = is_kept_[op.out.storage];
    if (kept && is_native(op.out) && space_->in_order(op.out)) {
      tile.out = in_memory(op.out);
      step_->ops.push_back(tile);
      return;
    }
    const std::uint32_t slot = slots_.take();
    tile.out = in_slot(slot);
    step_->ops.push_back(tile);
    const Key result = key(op.out);
    const bool is_read = slots_.will_be_read(result);
    if (is_read && is_16_bit_float(op.out.dtype))
      step_->ops.push_back(detail::rounding(tile.out, op.out.dtype));
    if (kept) keep(op.out, tile.out);
    if (is_read) {
      slots_.hold(result, slot);
    } else {
      slots_.give_back(slot);
    }
  }

  // Moves the kernel to the step. A result that is not read has no memory.
  void add_tail(GroupRows& rows) {
    if (!is_kept_[rows.out.storage]) return;
    const std::optional<std::uint32_t> slot = slots_.find(key(rows.in));
    step_->tails.push_back({.kernel = std::move(rows.kernel),
                            .in = slot ? in_slot(*slot) : in_memory(rows.in),
                            .out = lowering_.address(rows.out),
                            .columns_of = rows.columns(),
                            .out_columns_of = rows.out_columns});
  }

  // Adds a conversion from one array in memory to another, without scratch between them.
  bool add_as_conversion(const PointwiseOp& op) {
    if (!detail::only_converts(op.compute) || !op.inputs[0].operand) return false;
    const Operand& in = *op.inputs[0].operand;
    const bool is_direct = is_native(in) != is_native(op.out) && !slots_.find(key(in)) &&
                           is_kept_[op.out.storage] && !slots_.will_be_read(key(op.out)) && !is_spread(in) &&
                           space_->in_order(in) && space_->in_order(op.out);
    if (!is_direct) return false;
    push_conversion(in.dtype, op.out.dtype, in_memory(in), in_memory(op.out));
    slots_.note_read(key(in));
    return true;
  }

  TileOperand in_memory(const Operand& operand) const {
    return {lowering_.address(operand), static_cast<std::int64_t>(c10::elementSize(operand.dtype))};
  }

  void push_conversion(c10::ScalarType from, c10::ScalarType to, const TileOperand& in,
                       const TileOperand& out) {
    step_->ops.push_back(detail::conversion(from, to, in, out));
  }

  void push_copy(const Operand& operand, const TileOperand& in, const TileOperand& out, bool scatters) {
    TileOp tile;
    tile.operands = 1;
    tile.in[0] = in;
    tile.out = out;
    tile.copy = step_->add_copy(space_->strides(operand), c10::elementSize(operand.dtype), scatters);
    step_->ops.push_back(tile);
  }

  // Copies from scratch to the operand's memory.
  void keep(const Operand& out, TileOperand from) {
    const bool is_direct = space_->in_order(out);
    if (is_native(out)) return push_copy(out, from, {lowering_.address(out), 0}, /*scatters=*/true);
    if (is_direct) return push_conversion(group_->type, out.dtype, from, in_memory(out));
    const std::uint32_t converted = slots_.take();
    push_conversion(group_->type, out.dtype, from, in_slot(converted));
    push_copy(out, in_slot(converted), {lowering_.address(out), 0}, /*scatters=*/true);
    slots_.give_back(converted);
  }

  TileOperand read(const PointwiseInput& input, bool& is_scalar) {
    if (!input.operand) {
      is_scalar = true;
      step_->numbers->push_back(detail::as_computed(input.number, group_->type));
      return {{lowering_.absolute(),
               static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&step_->numbers->back()))},
              0};
    }
    const Operand& operand = *input.operand;
    const Key wanted = key(operand);
    if (const std::optional<std::uint32_t> slot = slots_.find(wanted)) return in_slot(*slot);
    if (is_spread(operand)) return in_memory(detail::spread_out(lowering_, operand, *space_, group_->sizes));
    const Dims strides = space_->strides(operand);
    if (is_spread_over_tile(operand, strides)) return spread_over_tile(operand, wanted, strides);
    const bool repeats = std::ranges::all_of(strides, [](const Size& stride) { return stride == 0; });
    if (space_->count() > 1 && is_native(operand) && repeats) {
      is_scalar = true;
      return {lowering_.address(operand), 0};
    }
    const bool is_direct = space_->in_order(strides);
    if (is_direct && is_native(operand)) return in_memory(operand);
    if (is_native(operand) && step_->repeats_in_tile(strides)) {
      is_scalar = true;
      return one_of_tile(operand, wanted);
    }
    const std::uint32_t loaded = slots_.take();
    slots_.hold(wanted, loaded);
    if (is_direct) {
      push_conversion(operand.dtype, group_->type, in_memory(operand), in_slot(loaded));
      return in_slot(loaded);
    }
    const std::uint32_t gathered = is_native(operand) ? loaded : slots_.take();
    push_copy(operand, {lowering_.address(operand), 0}, in_slot(gathered), /*scatters=*/false);
    if (!is_native(operand)) {
      push_conversion(operand.dtype, group_->type, in_slot(gathered), in_slot(loaded));
      slots_.give_back(gathered);
    }
    return in_slot(loaded);
  }

  TileOperand spread_over_tile(const Operand& operand, const Key& wanted, const Dims& strides) {
    const auto [known, is_new] = spread_.try_emplace(wanted);
    if (is_new) known->second = detail::spread_over_tile(lowering_, operand, strides, *step_);
    return {known->second, 0};
  }

  // Copies the element to scratch, where it stays for all operations.
  TileOperand one_of_tile(const Operand& operand, const Key& wanted) {
    const auto known = ones_.find(wanted);
    if (known != ones_.end()) return in_slot(known->second);
    const std::uint32_t slot = slots_.take();
    ones_[wanted] = slot;
    TileOp tile;
    tile.operands = 1;
    tile.in[0] = {lowering_.address(operand), 0};
    tile.out = in_slot(slot);
    tile.copy = step_->add_copy_of_one(space_->strides(operand), c10::elementSize(operand.dtype));
    step_->ops.push_back(tile);
    return in_slot(slot);
  }

  Lowering& lowering_;
  const std::vector<bool>& is_kept_;
  std::size_t most_bytes_ = 0;

  const Group* group_ = nullptr;
  std::unique_ptr<FusedStep> step_;
  std::optional<IterationSpace> space_;
  ScratchSlots slots_;
  std::map<Key, std::uint32_t> ones_;  // slots of single elements, which stay for all operations
  std::map<Key, Address> spread_;      // constants, expanded for one tile
  std::size_t slot_bytes_ = 0;
};

}  // namespace sr::replay
