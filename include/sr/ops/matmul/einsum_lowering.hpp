// Lowers einsum(equation, operands, path) with two operands to an elementwise product or to matrix products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <sr/base/identity.hpp>
#include <sr/ops/matmul/einsum_equation.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// Dimensions `first` to `end` - 1 as one; nothing if they are not evenly spaced.
inline std::optional<std::pair<Size, Size>> merged(const Operand& operand, std::size_t first,
                                                   std::size_t end) {
  Size size = 1, stride = 1;
  for (std::size_t d = end; d-- > first;) {
    if (operand.sizes[d] == 1) continue;
    if (size == 1) {
      stride = operand.strides[d];
    } else if (operand.strides[d] != stride * size) {
      return std::nullopt;
    }
    size *= operand.sizes[d];
  }
  return std::pair(size, stride);
}

// Replaces the dimensions from `batches` on by two: `rows` of them, and the others. Returns false if that is
// not possible.
inline bool make_matrices(Operand& operand, std::size_t batches, std::size_t rows) {
  const auto of_rows = merged(operand, batches, batches + rows),
             of_columns = merged(operand, batches + rows, operand.rank());
  if (!of_rows || !of_columns) return false;
  operand = first_dims(std::move(operand), batches);
  for (const auto& [size, stride] : {*of_rows, *of_columns}) {
    operand.sizes.push_back(size);
    operand.strides.push_back(stride);
  }
  return true;
}
// Arranges a copy of the operand if the operand itself cannot be arranged.
inline bool make_matrices_or_copy(Lowering& lowering, Operand& operand, std::size_t batches,
                                  std::size_t rows) {
  if (make_matrices(operand, batches, rows)) return true;
  operand = lowering.contiguous(operand);
  return make_matrices(operand, batches, rows);
}

// An operand or the result of an einsum.
struct Labelled {
  Operand operand;
  Labels labels;

  Operand with(const Labels& order) const { return arranged(operand, labels, order); }
};

inline Labels joined(Labels labels, const Labels& middle, const Labels& last) {
  labels.insert(labels.end(), middle.begin(), middle.end());
  labels.insert(labels.end(), last.begin(), last.end());
  return labels;
}

// Emits a batched matrix product that sums over the labels that the result does not have. Dimensions of
// `left` become the rows of the product, dimensions of `right` its columns. Returns false and emits no
// product if the columns are not contiguous in the result.
inline bool multiply(Lowering& lowering, const Labelled& left, const Labelled& right,
                     const Labelled& result) {
  const Labels summed = those(left.labels, [&](int label) { return !has(result.labels, label); }),
               batch = those(result.labels,
                             [&](int label) { return has(left.labels, label) && has(right.labels, label); }),
               rows = those(result.labels, [&](int label) { return !has(right.labels, label); }),
               columns = those(result.labels, [&](int label) { return !has(left.labels, label); });
  Operand a = left.with(joined(batch, rows, summed)), b = right.with(joined(batch, summed, columns)),
          out = result.with(joined(batch, rows, columns));
  // Sizes of 1 may broadcast, which a product of matrices does not do.
  for (std::size_t d = 0; d < batch.size(); ++d) {
    if (a.sizes[d] != b.sizes[d]) return false;
  }
  for (std::size_t d = 0; d < summed.size(); ++d) {
    if (a.sizes[batch.size() + rows.size() + d] != b.sizes[batch.size() + d]) return false;
  }
  if (!make_matrices(out, batch.size(), rows.size()) || (out.stride(-1) != 1 && out.size(-1) != 1) ||
      !make_matrices_or_copy(lowering, a, batch.size(), rows.size()) ||
      !make_matrices_or_copy(lowering, b, batch.size(), summed.size()))
    return false;
  if (batch.empty())
    return gemm_of_rows(lowering, a, b, b.stride(0), b.stride(1), b.size(1), std::nullopt, out);
  return batched(lowering, a, b, out);
}

inline bool einsum(Lowering& lowering, const TracedNode& node) {
  std::vector<Operand> operands;
  sr::detail::each_tensor(node.inputs[1],
                          [&](const at::Tensor& tensor) { operands.push_back(lowering.operand(tensor)); });
  const Operand out = lowering.output(node);
  if (lowering.exact() || operands.size() != 2 || node.dynamic_inputs[0] != kNone) return false;
  if (!all_float({&operands[0], &operands[1], &out})) return false;
  const auto equation = read_einsum(node.inputs[0].toStringRef(), {operands[0].rank(), operands[1].rank()});
  if (!equation) return false;
  const Labelled first{operands[0], equation->operands[0]}, second{operands[1], equation->operands[1]},
      result{out, equation->result};
  const auto is_alone = [&](int label) {
    return !has(result.labels, label) && !(has(first.labels, label) && has(second.labels, label));
  };
  if (std::ranges::any_of(first.labels, is_alone) || std::ranges::any_of(second.labels, is_alone))
    return false;
  if (std::ranges::all_of(first.labels, [&](int label) { return has(result.labels, label); })) {
    const Operand left = first.with(result.labels), right = second.with(result.labels);
    lowering.pointwise(kernels::loops<vector_ops::Mul>(), {left, right}, out);
    return true;
  }
  if (out.count() == 0) return true;
  return multiply(lowering, first, second, result) || multiply(lowering, second, first, result);
}

}  // namespace sr::replay::lower
