// Softmax and log_softmax in fp32, over the last dimension and over any other.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <ATen/WrapDimUtils.h>

#include <sr/ops/reduction/lowering.hpp>
#include <sr/ops/reduction/steps.hpp>
#include <sr/registry/operator_parts.hpp>
#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/row_tail.hpp>
#include <sr/replay/steps/rows_step.hpp>

namespace sr::replay {

struct RowsKernelStep final : RowsStep<RowsKernelStep> {
  std::string_view name() const override { return "softmax"; }
  void (*run_rows)(const kernels::RowMatrix& rows) = nullptr;

  void run_on(const kernels::RowMatrix& rows, std::byte* const*) const { run_rows(rows); }
};

struct RowsKernelOfTile final : ClonableRowKernel<RowsKernelOfTile> {
  void (*run_rows)(const kernels::RowMatrix& rows) = nullptr;

  void run(const kernels::RowMatrix& rows, std::byte* const*) const override { run_rows(rows); }
};

namespace lower {

// Describes the rows, which are the last `row_rank` dimensions of the input and as long in the result, in the
// step. Returns false if the kernels cannot take them.
template <class Step>
bool shape_rows(Lowering& lowering, Operand& in, std::size_t row_rank, const Operand& out, Step& step) {
  if (lowering.exact() || !in.is_float() || !out.is_float() || !out.is_contiguous()) return false;
  const Size columns = product_of(c10::ArrayRef<Size>(in.sizes).slice(in.rank() - row_rank));
  if (columns == 0) return false;
  auto rows = as_rows(in, row_rank);
  if (rows.first < 0) {
    in = lowering.contiguous(in);
    rows = as_rows(in, row_rank);
    if (rows.first < 0) return false;
  }
  step.sizes = {.rows = rows.first, .columns = columns, .in_stride = rows.second, .out_stride = columns};
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
    if (!shape_rows(lowering, *in, 1, out, step)) return false;
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
