// embedding_bag of a table in fp32, without the outputs that only training needs, and of quantized tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/WrapDimUtils.h>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

struct BagStep final : ClonableStep<BagStep> {
  std::string_view name() const override { return "embedding bag"; }
  bool may_fail() const override { return true; }                     // indices out of range
  Size bag_count, bag_length, indices_count, offsets_count, out_row;  // see kernels::Bags
  kernels::Bags shape;                                                // in this call
  Address table, indices, offsets, weights, out;
  // For sr::embedding_bag_of_part: the address of the starts of all parts, and the index of this part.
  Address starts;
  std::optional<std::int64_t> part;
  std::int64_t limit = 0;  // of indices
  bool (*all_within)(const void* indices, bool wide, std::size_t count, std::int64_t limit) = nullptr;
  void (*reduce)(const kernels::Bags& bags) = nullptr;

  RunStep settle(SizeValues& values) override {
    shape.bags = values.count(bag_count);
    shape.bag_length = values(bag_length);
    shape.indices_count = values(indices_count);
    shape.offsets_count = values(offsets_count);
    shape.out_stride = values(out_row);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const BagStep&>(payload);
    kernels::Bags bags = self.shape;
    bags.table = self.table.in(context.bases);
    bags.indices = self.indices.in(context.bases);
    if (bags.offsets_count != 0) bags.offsets = self.offsets.in(context.bases);
    if (bags.mode == kernels::BagMode::weighted_sum)
      bags.weights = self.weights.in<const float>(context.bases);
    bags.out = self.out.in<float>(context.bases);
    if (self.part) self.take_part(bags, context);
    const bool fits = bags.wide ? self.fits<std::int64_t>(bags) : self.fits<std::int32_t>(bags);
    if (!fits) throw Deoptimized("An index or an offset is out of range.", Deoptimized::Program::kept);
    self.reduce(bags);
  }

 private:
  // PartStartsStep has checked that the parts are those of the indices.
  void take_part(kernels::Bags& bags, const Context& context) const {
    const std::int64_t* const start = starts.in<const std::int64_t>(context.bases) + *part;
    const std::int64_t width = bags.wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
    bags.indices = static_cast<const std::byte*>(bags.indices) + start[0] * width;
    bags.indices_count = start[1] - start[0];
    if (bags.weights != nullptr) bags.weights += start[0];
  }

  // True if indices are within the table, and the bags cover all indices one after the other.
  template <class Offset>
  bool fits(const kernels::Bags& bags) const {
    const auto* const offset = static_cast<const Offset*>(bags.offsets);
    bool fits = all_within(bags.indices, bags.wide, static_cast<std::size_t>(bags.indices_count), limit);
    if (offset == nullptr) return fits;
    fits &= offset[0] == 0;
    for (std::int64_t b = 1; b < bags.offsets_count; ++b) fits &= offset[b - 1] <= offset[b];
    const std::int64_t last = offset[bags.offsets_count - 1];
    const bool ends_by_offset = bags.offsets_count > static_cast<std::int64_t>(bags.bags);
    return fits && (ends_by_offset ? last == bags.indices_count : last <= bags.indices_count);
  }
};

namespace lower {

// Adds what all kinds of tables have in common. Without offsets, `indices` has a row for each bag.
inline void emit_bags(Lowering& lowering, BagStep step, const Operand& table, Operand indices,
                      std::optional<Operand> offsets, std::optional<Operand> weights, const Operand& out,
                      Size out_row, const std::array<std::optional<Operand>, 2>& starts = {}) {
  indices = lowering.contiguous(indices);
  step.bag_count = out.sizes[0];
  step.shape.columns = static_cast<std::size_t>(out.sizes[1].pin());
  step.out_row = out_row;
  step.shape.wide = indices.dtype == c10::kLong;
  step.indices_count = indices.count();
  step.bag_length = 0;
  step.offsets_count = 0;
  step.all_within = kernels::kernels().table.all_within;
  step.table = lowering.address(table);
  step.indices = lowering.address(indices);
  step.out = lowering.address(out);
  std::vector<StorageId> reads{table.storage, indices.storage};
  if (offsets) {
    *offsets = lowering.contiguous(*offsets);
    step.offsets_count = offsets->count();
    step.offsets = lowering.address(*offsets);
    reads.push_back(offsets->storage);
  } else {
    step.bag_length = indices.size(1);
  }
  if (weights) {
    *weights = lowering.contiguous(*weights);
    step.weights = lowering.address(*weights);
    reads.push_back(weights->storage);
  }
  for (const std::optional<Operand>& each : starts) {
    if (!each) continue;
    step.starts = lowering.address(*each);  // those of the weights are equal
    reads.push_back(each->storage);
  }
  lowering.emit(std::move(step), std::move(reads), {out.storage});
}

// (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, ...);
// `padding` is the index that counts for nothing, or -1. The bags of a part have three arguments more, see
// tensor_parts.hpp.
inline bool bags(Lowering& lowering, const TracedNode& node, std::int64_t padding) {
  const auto table = lowering.input(node, 0);
  const auto indices = lowering.input(node, 1), offsets = lowering.input(node, 2),
             weights = lowering.input(node, 6);
  const Operand out = lowering.output(node);
  const std::int64_t mode = node.inputs[4].toInt();
  constexpr std::int64_t kMax = 2;
  if (!table || !indices || !offsets || lowering.reads_behind_first(node)) return false;
  if (lowering.exact() && mode != kMax) return false;
  if (!table->is_float() || !out.is_float() || out.count() == 0) return false;
  if (indices->dtype != offsets->dtype || (indices->dtype != c10::kLong && indices->dtype != c10::kInt))
    return false;
  if (weights && !weights->is_float()) return false;
  const auto rows = as_rows(*table), results = as_rows(out);
  if (rows.first < 0 || results.first < 0) return false;
  BagStep step;
  step.shape.mode = mode == kMax ? kernels::BagMode::max
                    : mode == 1  ? kernels::BagMode::mean
                    : weights    ? kernels::BagMode::weighted_sum
                                 : kernels::BagMode::sum;
  step.shape.table_stride = rows.second.pin();
  step.limit = table->sizes[0].pin();
  step.shape.padding = padding;
  step.reduce = kernels::kernels().table.reduce_bags;
  constexpr std::size_t kStarts = 9, kStartsOfWeights = 10, kPart = 11;
  if (node.inputs.size() <= kStarts) {
    emit_bags(lowering, std::move(step), *table, *indices, *offsets, weights, out, results.second);
    return true;
  }
  step.part = node.inputs[kPart].toInt();
  emit_bags(lowering, std::move(step), *table, *indices, *offsets, weights, out, results.second,
            {lowering.input(node, kStartsOfWeights), lowering.input(node, kStarts)});
  return true;
}

// embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
// include_last_offset[, padding_idx])
inline bool embedding_bag(Lowering& lowering, const TracedNode& node) {
  const auto table = lowering.input(node, 0);
  if (!table || table->rank() == 0) return false;
  const bool has_padding = node.inputs.size() > 8 && !node.inputs[8].isNone();
  return bags(lowering, node,
              has_padding ? at::maybe_wrap_dim(node.inputs[8].toInt(), table->sizes[0].pin()) : -1);
}

// _embedding_bag, _embedding_bag_forward_only(the same); no index is negative, so that no negative
// padding_idx counts.
inline bool embedding_bag_without_checks(Lowering& lowering, const TracedNode& node) {
  return bags(lowering, node, node.inputs[8].toInt());
}

// embedding_bag_*_rowwise_offsets(weight, indices, offsets, scale_grad_by_freq, mode, pruned_weights,
// per_sample_weights, compressed_indices_mapping, include_last_offset). LibTorch looks at neither mode nor
// pruned_weights without a mapping: results are sums.
template <std::size_t kBits>
bool quantized_embedding_bag(Lowering& lowering, const TracedNode& node) {
  const auto table = lowering.input(node, 0);
  const auto indices = lowering.input(node, 1), offsets = lowering.input(node, 2),
             weights = lowering.input(node, 6);
  const Operand out = lowering.output(node);
  constexpr std::size_t kLeastFused =
      8;  // floats of a register of CPUs that fuse products and sums, as FBGEMM does
  if (lowering.exact() && kernels::kernels().table.width < kLeastFused) return false;
  if (!table || !indices || !node.inputs[7].isNone()) return false;
  if (table->dtype != c10::kByte || table->rank() != 2) return false;
  if (offsets ? indices->rank() != 1 || offsets->rank() != 1 : indices->rank() != 2) return false;
  if (!out.is_float() || out.rank() != 2 || out.count() == 0 || !out.is_contiguous()) return false;
  if (indices->dtype != c10::kLong && indices->dtype != c10::kInt) return false;
  if (offsets && indices->dtype != offsets->dtype) return false;
  if (weights && (!weights->is_float() || weights->rank() != 1)) return false;
  if (!table->is_contiguous()) return false;
  BagStep step;
  step.shape.mode = weights ? kernels::BagMode::weighted_sum : kernels::BagMode::sum;
  step.shape.table_stride = table->stride(0).pin();
  step.limit = table->sizes[0].pin();
  const kernels::Table& kernels = kernels::kernels().table;
  step.reduce = kBits == 8 ? kernels.reduce_byte_bags : kernels.reduce_nibble_bags;
  emit_bags(lowering, std::move(step), *table, *indices, offsets, weights, out, out.stride(0));
  return true;
}

}  // namespace lower
}  // namespace sr::replay
