// embedding_bag in fp32, without the outputs that only training needs.
#pragma once

#include <utility>
#include <vector>

#include <ATen/WrapDimUtils.h>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

struct BagStep final : ClonableStep<BagStep> {
  std::string_view name() const override { return "embedding bag"; }
  bool may_fail() const override { return true; }         // indices out of range
  Size bag_count, indices_count, offsets_count, out_row;  // see kernels::Bags
  kernels::Bags shape;                                    // in this call
  Address table, indices, offsets, weights, out;
  std::int64_t limit = 0;  // of indices
  bool (*all_within)(const void* indices, bool wide, std::size_t count, std::int64_t limit) = nullptr;
  void (*reduce)(const kernels::Bags& bags) = nullptr;

  RunStep settle(SizeValues& values) override {
    shape.bags = values.count(bag_count);
    shape.indices_count = values(indices_count);
    shape.offsets_count = values(offsets_count);
    shape.out_stride = values(out_row);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const BagStep&>(payload);
    kernels::Bags bags = self.shape;
    bags.table = self.table.in<const float>(context.bases);
    bags.indices = self.indices.in(context.bases);
    bags.offsets = self.offsets.in(context.bases);
    if (bags.mode == kernels::BagMode::weighted_sum)
      bags.weights = self.weights.in<const float>(context.bases);
    bags.out = self.out.in<float>(context.bases);
    const bool fits = bags.wide ? self.fits<std::int64_t>(bags) : self.fits<std::int32_t>(bags);
    if (!fits) throw Deoptimized("An index or an offset is out of range.", /*keep=*/true);
    self.reduce(bags);
  }

 private:
  // Whether indices are within the table, and the bags cover all indices one after the other.
  template <class Offset>
  bool fits(const kernels::Bags& bags) const {
    const auto* const offset = static_cast<const Offset*>(bags.offsets);
    bool fits = offset[0] == 0 &&
                all_within(bags.indices, bags.wide, static_cast<std::size_t>(bags.indices_count), limit);
    for (std::int64_t b = 1; b < bags.offsets_count; ++b) fits &= offset[b - 1] <= offset[b];
    const std::int64_t last = offset[bags.offsets_count - 1];
    const bool ends_by_offset = bags.offsets_count > static_cast<std::int64_t>(bags.bags);
    return fits && (ends_by_offset ? last == bags.indices_count : last <= bags.indices_count);
  }
};

namespace lower {

// embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
// include_last_offset[, padding_idx])
inline bool embedding_bag(Lowering& lowering, const TracedNode& node) {
  const auto table = lowering.input(node, 0);
  auto indices = lowering.input(node, 1), offsets = lowering.input(node, 2),
       weights = lowering.input(node, 6);
  const Operand out = lowering.output(node);
  const std::int64_t mode = node.inputs[4].toInt();
  constexpr std::int64_t kMax = 2;
  if (!table || !indices || !offsets || lowering.reads_behind_first(node)) return false;
  if (lowering.exact() && mode != kMax) return false;
  // Offsets that the interpreter accepts can deoptimize a replay, which may have drawn random numbers by
  // then.
  if (lowering.trace().draws_random_numbers) return false;
  if (!table->is_float() || !out.is_float() || out.count() == 0) return false;
  if (indices->dtype != offsets->dtype || (indices->dtype != c10::kLong && indices->dtype != c10::kInt))
    return false;
  if (weights && !weights->is_float()) return false;
  const auto rows = as_rows(*table), results = as_rows(out);
  if (rows.first < 0 || results.first < 0) return false;
  *indices = lowering.contiguous(*indices);
  *offsets = lowering.contiguous(*offsets);
  BagStep step;
  step.shape.mode = mode == kMax ? kernels::BagMode::max
                    : mode == 1  ? kernels::BagMode::mean
                    : weights    ? kernels::BagMode::weighted_sum
                                 : kernels::BagMode::sum;
  step.bag_count = out.sizes[0];
  step.shape.columns = static_cast<std::size_t>(out.sizes[1].pin());
  step.shape.table_stride = rows.second.pin();
  step.out_row = results.second;
  step.shape.wide = indices->dtype == c10::kLong;
  step.indices_count = indices->count();
  step.offsets_count = offsets->count();
  step.limit = table->sizes[0].pin();
  if (node.inputs.size() > 8 && !node.inputs[8].isNone())
    step.shape.padding = at::maybe_wrap_dim(node.inputs[8].toInt(), step.limit);
  step.all_within = kernels::kernels().table.all_within;
  step.reduce = kernels::kernels().table.reduce_bags;
  step.table = lowering.address(*table);
  step.indices = lowering.address(*indices);
  step.offsets = lowering.address(*offsets);
  step.out = lowering.address(out);
  std::vector<StorageId> reads{table->storage, indices->storage, offsets->storage};
  if (weights) {
    *weights = lowering.contiguous(*weights);
    step.weights = lowering.address(*weights);
    reads.push_back(weights->storage);
  }
  lowering.emit(std::move(step), std::move(reads), {out.storage});
  return true;
}

}  // namespace lower
}  // namespace sr::replay
