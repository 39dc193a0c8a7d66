// Softmax and log_softmax in fp32, over the last dimension and over any other.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <ATen/WrapDimUtils.h>

#include <sr/registry/operator_spec.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/reductions.hpp>
#include <sr/replay/steps/row_shares.hpp>

namespace sr::replay {

// The sizes of rows; see kernels::RowMatrix.
struct RowSizes {
  Size rows, columns, in_stride, out_stride;

  void settle(SizeValues& values, kernels::RowMatrix& shape) const {
    shape.rows = values.count(rows);
    shape.columns = values.count(columns);
    shape.in_stride = values(in_stride);
    shape.out_stride = values(out_stride);
  }
};

struct RowsKernelStep final : ClonableStep<RowsKernelStep> {
  std::string_view name() const override { return "softmax"; }
  RowSizes sizes;
  kernels::RowMatrix shape;  // in this call
  Address in, out;
  void (*run_rows)(const kernels::RowMatrix& rows) = nullptr;
  RowShares parts;

  RunStep settle(SizeValues& values) override {
    sizes.settle(values, shape);
    return parts.cut(shape) ? &run_parts : &run;
  }

  Shares* shared_work() override { return &parts.shares; }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const RowsKernelStep&>(payload);
    self.run_rows(self.bound(context.bases));
  }

 private:
  static void run_parts(const Payload& payload, Context& context) {
    const auto& self = static_cast<const RowsKernelStep&>(payload);
    self.parts.each(self.bound(context.bases), self.run_rows);
  }

  kernels::RowMatrix bound(std::byte* const* bases) const {
    kernels::RowMatrix rows = shape;
    rows.in = in.in<const float>(bases);
    rows.out = out.in<float>(bases);
    return rows;
  }
};

struct RowsKernelOfTile final : ClonableRowKernel<RowsKernelOfTile> {
  void (*run_rows)(const kernels::RowMatrix& rows) = nullptr;

  void run(const kernels::RowMatrix& rows, std::byte* const*) const override { run_rows(rows); }
};

namespace lower {

// Describes the rows, which are the last `row_rank` dimensions of the input, in the step. `out_columns` is
// the number of elements in a row of the result. Returns false if the kernels can not take them.
inline bool shape_rows(Lowering& lowering, Operand& in, std::size_t row_rank, const Operand& out,
                       const Size& out_columns, RowsKernelStep& step) {
  if (lowering.exact() || !in.is_float() || !out.is_float() || !out.is_contiguous()) return false;
  const Size columns = product_of(c10::ArrayRef<Size>(in.sizes).slice(in.rank() - row_rank));
  if (columns == 0) return false;
  auto rows = as_rows(in, row_rank);
  if (rows.first < 0) {
    in = lowering.contiguous(in);
    rows = as_rows(in, row_rank);
    if (rows.first < 0) return false;
  }
  step.sizes = {.rows = rows.first, .columns = columns, .in_stride = rows.second, .out_stride = out_columns};
  step.in = lowering.address(in);
  step.out = lowering.address(out);
  return true;
}

template <auto kernels::Table::*RowsKernel, auto kernels::Table::*ColumnsKernel>
bool softmax(Lowering& lowering, const TracedNode& node) {
  auto in = lowering.input(node, 0);
  if (!in || in->rank() == 0) return false;
  const auto rank = static_cast<std::int64_t>(in->rank());
  const std::int64_t dim = at::maybe_wrap_dim(node.inputs[1].toInt(), rank);
  const Operand out = lowering.output(node);
  if (out.count() == 0) return false;
  if (dim == rank - 1) {
    auto kernel = std::make_unique<RowsKernelOfTile>();
    kernel->run_rows = kernels::kernels().table.*RowsKernel;
    GroupRows rows{
        .kernel = std::move(kernel), .in = *in, .out = out, .row_rank = 1, .out_columns = in->size(-1)};
    if (!lowering.exact() && lowering.behind_group(std::move(rows), {})) return true;
    RowsKernelStep step;
    if (!shape_rows(lowering, *in, 1, out, in->size(-1), step)) return false;
    step.run_rows = kernels::kernels().table.*RowsKernel;
    lowering.emit(std::move(step), {in->storage}, {out.storage});
    return true;
  }
  if (lowering.exact() || !in->is_float() || !out.is_float() || !out.is_contiguous()) return false;
  const Operand dense = lowering.contiguous(*in);
  if (!dense.is_contiguous()) return false;
  OuterReductionStep step;
  step.sizes = columns_of(dense, static_cast<std::size_t>(dim));
  step.reduce = kernels::kernels().table.*ColumnsKernel;
  step.in = lowering.address(dense);
  step.out = lowering.address(out);
  lowering.emit(std::move(step), {dense.storage}, {out.storage});
  return true;
}

inline constexpr LowerFunction kSoftmax =
    &softmax<&kernels::Table::softmax_rows, &kernels::Table::softmax_columns>;
inline constexpr LowerFunction kLogSoftmax =
    &softmax<&kernels::Table::log_softmax_rows, &kernels::Table::log_softmax_columns>;

}  // namespace lower
}  // namespace sr::replay
