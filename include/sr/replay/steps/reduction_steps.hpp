// Reduction steps, and the reduction of rows inside a fused step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/steps/row_tail.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct OuterReductionStep final : Payload {
  std::string_view name() const override { return "reduction"; }
  kernels::OuterReduction shape;
  Address in, out;
  void (*reduce)(const kernels::OuterReduction& columns) = nullptr;

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const OuterReductionStep&>(payload);
    kernels::OuterReduction columns = self.shape;
    columns.in = self.in.in<const float>(context.bases);
    columns.out = self.out.in<float>(context.bases);
    self.reduce(columns);
  }
};

struct ExtremeStep final : Payload {
  std::string_view name() const override { return "extremes"; }
  kernels::OuterReduction shape;
  Address in, values, indices;
  bool smallest = false, has_values = false;
  decltype(kernels::Table::extreme) find = nullptr;

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const ExtremeStep&>(payload);
    kernels::OuterReduction columns = self.shape;
    columns.in = self.in.in<const float>(context.bases);
    columns.out = self.has_values ? self.values.in<float>(context.bases) : nullptr;
    self.find(columns, self.smallest, self.indices.in<std::int64_t>(context.bases));
  }
};

struct InnerReductionOfTile final : RowKernel {
  kernels::OuterReduction shape;
  void (*reduce)(const kernels::OuterReduction& columns) = nullptr;

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
