// The product of a concatenation with one column, computed as the sum of the products of the tensors that are
// concatenated. Nothing writes or reads the concatenation then. Many models that rank end in such a layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/WrapDimUtils.h>

#include <sr/base/error.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/ops/rearranging/join_lowering.hpp>
#include <sr/registry/operator_parts.hpp>
#include <sr/registry/registry.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/placement.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay::lower {

// Positions of a product's arguments: rows [..., k] times a matrix [k, n].
struct ProductArguments {
  std::size_t rows = 0, matrix = 1;
  std::optional<std::size_t> bias = std::nullopt;
  bool is_transposed = false;                        // the matrix is [n, k]
  std::optional<std::size_t> scales = std::nullopt;  // two numbers, which must be 1
};

inline std::optional<Operand> bias_of(const Lowering& lowering, const TracedNode& node,
                                      const ProductArguments& arguments) {
  return arguments.bias ? lowering.input(node, *arguments.bias) : std::nullopt;
}
// True if the scales are 1, and the bias is None or a tensor that kernels can read.
inline bool is_plain_product(const Lowering& lowering, const TracedNode& node,
                             const ProductArguments& arguments) {
  if (arguments.scales &&
      !(is_one(node.inputs[*arguments.scales]) && is_one(node.inputs[*arguments.scales + 1])))
    return false;
  return !arguments.bias || node.inputs[*arguments.bias].isNone() || bias_of(lowering, node, arguments);
}

// An operator whose lowering calls product_of_rows with `arguments`.
struct ProductOperator {
  LowerFunction lower = nullptr;
  ProductArguments arguments;
};

// Finds the concatenations of which products of `operators` can be computed from the parts, and marks them:
// see Lowering::keep_apart. Only one part may have more than one column: each further one would be a step of
// its own.
class ProductsOfParts {
 public:
  ProductsOfParts(Lowering& lowering, std::span<const ProductOperator> operators)
      : lowering_(lowering), operators_(operators) {}

  void mark() const {
    if (lowering_.exact()) return;
    for (const TracedNode& node : lowering_.trace().nodes) {
      if (!makes_one_column(node)) continue;  // most nodes, of which the registry is not asked
      const LowerFunction function = lower_function(node);
      for (const ProductOperator& each : operators_) {
        if (each.lower == function) mark_rows_of(node, each.arguments);
      }
    }
  }

 private:
  static constexpr std::size_t kMostParts = 8;

  bool makes_one_column(const TracedNode& node) const {
    if (node.role != Role::compute || node.outputs.size() != 1 || !node.outputs[0].isTensor() ||
        !node.outputs[0].toTensor().defined()) {
      return false;
    }
    const Dims& sizes = lowering_.trace().layout_of(node.outputs[0].toTensor()).sizes;
    return sizes.size() >= 2 && Size::always_equal(sizes.back(), 1);
  }

  // The function that will lower the node, if it takes its arguments as they are.
  static LowerFunction lower_function(const TracedNode& node) {
    const bool is_plain = node.role == Role::compute && node.twin.empty() && node.changed.empty() &&
                          node.processed->vector_op == nullptr &&
                          std::ranges::none_of(node.numbers, &NumberInput::is_operand);
    return is_plain ? registry().operator_of(key_of(*node.processed->node)).to_kernel : nullptr;
  }

  void mark_rows_of(const TracedNode& node, const ProductArguments& product) const {
    if (!has_one_column(node, product) || !node.inputs[product.rows].isTensor()) return;
    const Trace& trace = lowering_.trace();
    const at::Tensor& rows = node.inputs[product.rows].toTensor();
    const StorageId storage = trace.storage_id_of(rows);
    const std::uint32_t producer = trace.storages[storage].producer;
    if (trace.storages[storage].home != Home::produced || producer == kNone ||
        !lowering_.is_read_once(storage) || rows.scalar_type() != c10::kFloat)
      return;
    const TracedNode& join_node = trace.nodes[producer];
    const bool is_joined = lower_function(join_node) == &join<false> &&
                           trace.id_of(join_node.outputs[0].toTensor()) == trace.id_of(rows);
    if (!is_joined) return;
    std::vector<at::Tensor> parts = parts_that_fit(join_node, rows);
    if (!parts.empty()) lowering_.keep_apart(rows, std::move(parts));
  }

  bool has_one_column(const TracedNode& node, const ProductArguments& product) const {
    const auto matrix = lowering_.input(node, product.matrix);
    if (!matrix || matrix->rank() != 2 || !matrix->is_float() || !lowering_.is_constant(*matrix) ||
        matrix->size(product.is_transposed ? 0 : 1) != 1 ||
        matrix->stride(product.is_transposed ? 1 : 0) != 1 || lowering_.before_widening(*matrix) ||
        lowering_.dequantized(*matrix))
      return false;
    if (!is_plain_product(lowering_, node, product)) return false;
    const auto bias = bias_of(lowering_, node, product);
    return !bias || is_bias(*bias, c10::kFloat, 1);
  }

  // The parts of the concatenation; none if it must be made. One row is concatenated for nothing: its parts
  // are written where they belong.
  std::vector<at::Tensor> parts_that_fit(const TracedNode& join_node, const at::Tensor& joined) const {
    const Trace& trace = lowering_.trace();
    const TensorLayout& layout = trace.layout_of(joined);
    const auto rank = static_cast<std::int64_t>(layout.sizes.size());
    if (rank < 2 || rank > static_cast<std::int64_t>(kernels::StridedCopy::kMaxRank) ||
        at::maybe_wrap_dim(join_node.inputs.back().toInt(), rank) != rank - 1 ||
        Size::always_equal(product_of(layout.sizes), 0) ||
        Size::always_equal(product_of(c10::ArrayRef<Size>(layout.sizes).slice(0, layout.sizes.size() - 1)),
                           1))
      return {};
    std::vector<at::Tensor> parts;
    std::size_t wide = 0;
    for (const JoinedPart& part : parts_of(trace, join_node, /*stacks=*/false, layout.strides)) {
      const TracedTensor& traced = trace.tensors[trace.id_of(part.tensor)];
      const Size& width = traced.layout.sizes.back();
      if (part.tensor.scalar_type() != c10::kFloat || !width.is_constant() || width.recorded() == 0 ||
          trace.storages[traced.storage].home == Home::opaque ||
          lowering_.is_written_in_place(traced.storage))
        return {};
      wide += width.recorded() > 1 ? 1 : 0;
      parts.push_back(part.tensor);
    }
    if (parts.size() < 2 || parts.size() > kMostParts || wide > 1) return {};
    return parts;
  }

  Lowering& lowering_;
  std::span<const ProductOperator> operators_;
};

// The product of rows that were kept apart with a column: of the wide part by a kernel, of each other part,
// a number a row, by a multiplication and an addition.
inline void product_of_parts(Lowering& lowering, const std::vector<at::Tensor>& parts, const Operand& column,
                             const std::optional<Operand>& bias, const Operand& out) {
  std::vector<std::pair<Operand, Operand>> narrow;  // numbers and their weights
  std::optional<Operand> total;
  Operand weights = column;
  for (const at::Tensor& part : parts) {
    const Operand rows = lowering.operand(part);
    weights.sizes = {rows.size(-1)};
    weights.strides = {1};
    if (rows.size(-1) == 1) {
      narrow.emplace_back(rows, weights);
    } else {
      total = lowering.temporary(out.sizes);
      if (!gemm_of_rows(lowering, rows, weights, 1, rows.size(-1), 1, bias, *total))
        throw InternalError("A part of a concatenation could not be multiplied by itself.");
    }
    weights.offset += rows.size(-1);
  }
  std::optional<Operand> added = total ? std::nullopt : bias;
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    const auto& [rows, weight] = narrow[i];
    const Operand sum = i + 1 == narrow.size() && !added ? out : lowering.temporary(out.sizes);
    if (total) {
      lowering.pointwise(kernels::loops<vector_ops::AddProduct>(), {*total, rows, weight}, sum);
    } else {
      lowering.pointwise(kernels::loops<vector_ops::Mul>(), {rows, weight}, sum);
    }
    total = sum;
  }
  if (added) lowering.pointwise(kernels::loops<vector_ops::Add>(), {*total, *added}, out);
}

// Does what gemm_of_rows does, for rows that may have been kept apart.
inline bool product_of_rows(Lowering& lowering, const Operand& a, const Operand& b, const Size& b_k,
                            const Size& b_n, const Size& n, const std::optional<Operand>& bias,
                            const Operand& out) {
  const std::vector<at::Tensor>* const parts = lowering.parts_kept_apart(a.storage);
  if (parts == nullptr) return gemm_of_rows(lowering, a, b, b_k, b_n, n, bias, out);
  product_of_parts(lowering, *parts, b, bias, out);
  return true;
}
inline bool product_of_rows(Lowering& lowering, const TracedNode& node, const ProductArguments& arguments) {
  const auto rows = lowering.input(node, arguments.rows), matrix = lowering.input(node, arguments.matrix);
  if (!rows || !matrix || matrix->rank() != 2 || !is_plain_product(lowering, node, arguments)) return false;
  const std::size_t k = arguments.is_transposed ? 1 : 0, n = 1 - k;
  return product_of_rows(lowering, *rows, *matrix, matrix->stride(k), matrix->stride(n), matrix->size(n),
                         bias_of(lowering, node, arguments), lowering.output(node));
}

}  // namespace sr::replay::lower
