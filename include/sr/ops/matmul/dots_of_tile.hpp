// The product of a tile's rows with one column, inside a fused step.
#pragma once

#include <cstddef>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/steps/row_tail.hpp>
#include <sr/replay/steps/step.hpp>

namespace sr::replay {

struct DotsOfTile final : ClonableRowKernel<DotsOfTile> {
  Address column, bias;  // as many contiguous floats as a row has, and one
  bool has_bias = false;

  void run(const kernels::RowMatrix& rows, std::byte* const* bases) const override {
    const kernels::BatchedDotKernel multiply = kernels::kernels().table.batched_dot(rows.rows, rows.columns);
    multiply({.count = rows.rows,
              .k = rows.columns,
              .a = rows.in,
              .a_row = rows.in_stride,
              .b = column.in<const float>(bases),
              .bias = has_bias ? bias.in<const float>(bases) : nullptr,
              .out = rows.out,
              .out_stride = rows.out_stride});
  }
};

}  // namespace sr::replay
