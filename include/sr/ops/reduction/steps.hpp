// Reduction steps, and the reduction of rows inside a fused step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/steps/image_accesses.hpp>
#include <sr/replay/steps/row_tail.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

// The sizes of a reduction; see kernels::OuterReduction.
struct ReductionSizes {
  Size outer = 1, count = 0, inner = 1;
  Size in_outer, in_row, out_outer, out_row;
  Size divisor = 1;

  void settle(SizeValues& values, kernels::OuterReduction& shape) const {
    shape.outer = values.count(outer);
    shape.count = values.count(count);
    shape.inner = values.count(inner);
    shape.in_outer = values(in_outer);
    shape.in_row = values(in_row);
    shape.out_outer = values(out_outer);
    shape.out_row = values(out_row);
    shape.divisor = static_cast<float>(values(divisor));
  }
};

struct OuterReductionStep final : ClonableStep<OuterReductionStep> {
  std::string_view name() const override { return "reduction"; }
  bool may_be_dropped() const override { return true; }
  ReductionSizes sizes;
  kernels::OuterReduction shape;  // in this call, but for `root`
  Address in, out;
  void (*reduce)(const kernels::OuterReduction& columns) = nullptr;

  RunStep settle(SizeValues& values) override {
    sizes.settle(values, shape);
    return nullptr;
  }

  bool list_accesses(ImageAccesses& images) const override {
    if (varies({sizes.count, sizes.inner, sizes.in_outer, sizes.in_row, sizes.out_outer}) ||
        sizes.count.recorded() == 0)
      return false;
    const std::int64_t inner = sizes.inner.recorded();
    images.images = sizes.outer;
    images.add(in, (sizes.count.recorded() - 1) * sizes.in_row.recorded() + inner, sizes.in_outer.recorded(),
               /*writes=*/false);
    images.add(out, inner, sizes.out_outer.recorded(), /*writes=*/true);
    return true;
  }
  void keep_one_image() override { sizes.outer = 1; }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const OuterReductionStep&>(payload);
    kernels::OuterReduction columns = self.shape;
    columns.in = self.in.in<const float>(context.bases);
    columns.out = self.out.in<float>(context.bases);
    self.reduce(columns);
  }
};

struct ExtremeStep final : ClonableStep<ExtremeStep> {
  std::string_view name() const override { return "extremes"; }
  ReductionSizes sizes;
  kernels::OuterReduction shape;  // in this call
  Address in, values, indices;
  bool smallest = false, has_values = false;
  decltype(kernels::Table::extreme) find = nullptr;

  RunStep settle(SizeValues& values_of) override {
    sizes.settle(values_of, shape);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const ExtremeStep&>(payload);
    kernels::OuterReduction columns = self.shape;
    columns.in = self.in.in<const float>(context.bases);
    columns.out = self.has_values ? self.values.in<float>(context.bases) : nullptr;
    self.find(columns, self.smallest, self.indices.in<std::int64_t>(context.bases));
  }
};

struct InnerReductionOfTile final : ClonableRowKernel<InnerReductionOfTile> {
  Size divisor = 1;
  kernels::OuterReduction shape;  // in this call, but for `root`
  void (*reduce)(const kernels::OuterReduction& columns) = nullptr;

  void settle(SizeValues& values) override { shape.divisor = static_cast<float>(values(divisor)); }
  void run(const kernels::RowMatrix& rows, std::byte* const*) const override {
    kernels::OuterReduction columns = shape;
    columns.outer = rows.rows;
    columns.count = rows.columns;
    columns.in_row = 1;
    columns.in_outer = rows.in_stride;
    columns.out_outer = rows.out_stride;
    columns.in = rows.in;
    columns.out = rows.out;
    reduce(columns);
  }
};

}  // namespace sr::replay
