// What works on rows in fp32: softmax and layer norm over the last dimensions; softmax over any other.
#pragma once

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/WrapDimUtils.h>

#include <sr/plan/lower/products.hpp>
#include <sr/plan/lower/reductions.hpp>
#include <sr/plan/lowering.hpp>

namespace sr::plan {

struct RowsStep final : Payload {
  kernels::Rows shape;
  Address in, out, gamma, beta;
  bool has_gamma = false, has_beta = false;
  float number = 0;  // epsilon
  void (*plain)(const kernels::Rows& rows) = nullptr;
  void (*norm)(const kernels::Rows& rows, const float* gamma, const float* beta, float epsilon) = nullptr;

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const RowsStep&>(payload);
    kernels::Rows rows = self.shape;
    rows.in = self.in.in<const float>(context.bases);
    rows.out = self.out.in<float>(context.bases);
    if (self.plain != nullptr) {
      self.plain(rows);
    } else {
      self.norm(rows, self.has_gamma ? self.gamma.in<const float>(context.bases) : nullptr,
                self.has_beta ? self.beta.in<const float>(context.bases) : nullptr, self.number);
    }
  }
};

namespace lower {

// Rows of the last `row_rank` dimensions of the input; `out_columns`: elements of a row of the result.
inline bool shape_rows(Lowering& lowering, Operand& in, std::size_t row_rank, const Operand& out,
                       std::int64_t out_columns, RowsStep& step) {
  if (lowering.exact() || !in.is_float() || !out.is_float() || !out.is_contiguous()) return false;
  std::int64_t columns = 1;
  for (std::size_t d = in.rank() - row_rank; d < in.rank(); ++d) columns *= in.sizes[d];
  if (columns == 0) return false;
  auto rows = as_rows(in, row_rank);
  if (rows.first < 0) {
    in = lowering.contiguous(in);
    rows = as_rows(in, row_rank);
    if (rows.first < 0) return false;
  }
  step.shape.rows = static_cast<std::size_t>(rows.first);
  step.shape.columns = static_cast<std::size_t>(columns);
  step.shape.in_stride = rows.second;
  step.shape.out_stride = out_columns;
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
    RowsStep step;
    if (!shape_rows(lowering, *in, 1, out, in->size(-1), step)) return false;
    step.plain = kernels::kernels().table.*RowsKernel;
    lowering.emit(std::move(step), {in->storage}, {out.storage});
    return true;
  }
  if (lowering.exact() || !in->is_float() || !out.is_float() || !out.is_contiguous()) return false;
  const Operand dense = lowering.contiguous(*in);
  if (!dense.is_contiguous()) return false;
  ColumnsStep step;
  step.shape = columns_of(dense, static_cast<std::size_t>(dim));
  step.reduce = kernels::kernels().table.*ColumnsKernel;
  step.in = lowering.address(dense);
  step.out = lowering.address(out);
  lowering.emit(std::move(step), {dense.storage}, {out.storage});
  return true;
}

// layer_norm(x, normalized_shape, weight, bias, eps, cudnn_enable)
inline bool layer_norm(Lowering& lowering, const TracedNode& node) {
  auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || out.count() == 0) return false;
  const std::size_t row_rank = node.inputs[1].toIntVector().size();
  RowsStep step;
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    const auto scale = lowering.input(node, i);
    if (!scale) continue;
    if (!scale->is_float() || !scale->is_contiguous()) return false;
    (i == 2 ? step.gamma : step.beta) = lowering.address(*scale);
    (i == 2 ? step.has_gamma : step.has_beta) = true;
  }
  const auto columns = static_cast<std::int64_t>(out.count());
  if (row_rank > in->rank() || !shape_rows(lowering, *in, row_rank, out, columns, step)) return false;
  step.shape.out_stride = static_cast<std::ptrdiff_t>(step.shape.columns);
  step.norm = kernels::kernels().table.layer_norm_rows;
  step.number = static_cast<float>(node.inputs[4].toDouble());
  std::vector<StorageId> reads{in->storage};
  if (const auto gamma = lowering.input(node, 2)) reads.push_back(gamma->storage);
  if (const auto beta = lowering.input(node, 3)) reads.push_back(beta->storage);
  lowering.emit(std::move(step), std::move(reads), {out.storage});
  return true;
}

inline void add_rows(LowerTable& table) {
  using kernels::Table;
  constexpr LowerFunction plain = &softmax<&Table::softmax_rows, &Table::softmax_columns>;
  constexpr LowerFunction logarithmic = &softmax<&Table::log_softmax_rows, &Table::log_softmax_columns>;
  table.insert({{"aten::softmax.int", plain},
                {"aten::_softmax", plain},
                {"aten::log_softmax.int", logarithmic},
                {"aten::_log_softmax", logarithmic},
                {"aten::layer_norm", &layer_norm}});
}

}  // namespace lower

}  // namespace sr::plan
