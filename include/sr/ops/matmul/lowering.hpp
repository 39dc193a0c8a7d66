// Operators that multiply matrices: linear, mm, addmm, bmm, matmul, tensordot.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/ops/matmul/products_of_parts.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>
#include <sr/replay/sizes/reshape.hpp>

namespace sr::replay::lower {

// linear(x, weight [n, k], bias)
inline constexpr ProductArguments kLinear{.bias = 2, .is_transposed = true};
inline bool linear(Lowering& lowering, const TracedNode& node) {
  const auto x = lowering.input(node, 0);
  // LibTorch adds the bias to the rounded product in this case, and rounds again.
  const bool adds_later = x && is_16_bit_float(x->dtype) && x->rank() != 2 && !x->is_contiguous();
  if (adds_later && lowering.input(node, 2)) return false;
  return product_of_rows(lowering, node, kLinear);
}

// mm(a, b)
inline constexpr ProductArguments kMm{};
inline bool mm(Lowering& lowering, const TracedNode& node) {
  return product_of_rows(lowering, node, kMm);
}

// addmm(bias, a, b, beta, alpha)
inline constexpr ProductArguments kAddmm{.rows = 1, .matrix = 2, .bias = 0, .scales = 3};
inline bool addmm(Lowering& lowering, const TracedNode& node) {
  return product_of_rows(lowering, node, kAddmm);
}

// tensordot(a, b, dims of a, dims of b), if it sums over the last dimensions of `a` and the first ones of
// `b`, in order. That is a product of matrices.
inline bool tensordot(Lowering& lowering, const TracedNode& node) {
  auto a = lowering.input(node, 0), b = lowering.input(node, 1);
  Operand out = lowering.output(node);
  const auto of_a = fixed_integers(node, 2), of_b = fixed_integers(node, 3);
  if (!a || !b || !of_a || !of_b || of_a->empty() || !out.is_contiguous()) return false;
  const std::size_t summed = of_a->size(), rows = a->rank() - summed;
  for (std::size_t i = 0; i < summed; ++i) {
    if (from_front((*of_a)[i], a->rank()) != rows + i || from_front((*of_b)[i], b->rank()) != i) return false;
  }
  const bool is_matrix = summed == 1 && b->rank() == 2;
  if ((summed > 1 && !a->is_contiguous()) || (!is_matrix && !b->is_contiguous())) return false;
  const Size k = product_of(c10::ArrayRef<Size>(a->sizes).slice(rows));
  const Size n = product_of(c10::ArrayRef<Size>(b->sizes).slice(summed));
  const Size b_k = is_matrix ? b->stride(0) : n, b_n = is_matrix ? b->stride(1) : Size(1);
  const Size a_k = a->stride(-1);
  *a = first_dims(*a, rows);
  a->sizes.push_back(k);
  a->strides.push_back(a_k);
  out = first_dims(out, rows);
  out.sizes.push_back(n);
  out.strides = dense_strides(out.sizes);
  return product_of_rows(lowering, *a, *b, b_k, b_n, n, std::nullopt, out);
}

inline bool bmm(Lowering& lowering, const TracedNode& node) {
  const auto a = lowering.input(node, 0), b = lowering.input(node, 1);
  return a && b && batched(lowering, *a, *b, lowering.output(node));
}

inline bool matmul(Lowering& lowering, const TracedNode& node) {
  const auto a = lowering.input(node, 0), b = lowering.input(node, 1);
  if (!a || !b || a->rank() == 0 || b->rank() == 0) return false;
  const Operand out = lowering.output(node);
  if (b->rank() == 1) return product_of_rows(lowering, *a, *b, b->stride(0), 1, 1, std::nullopt, out);
  if (b->rank() == 2) return product_of_rows(lowering, node, kMm);
  return a->rank() >= 2 && batched(lowering, *a, *b, out);
}

// The operators that may multiply the parts of a concatenation.
inline constexpr std::array kProductsOfParts{
    ProductOperator{&linear, kLinear},
    ProductOperator{&addmm, kAddmm},
    ProductOperator{&mm, kMm},
    ProductOperator{&matmul, kMm},
};
inline void keep_parts_of_products(Lowering& lowering) {
  ProductsOfParts(lowering, kProductsOfParts).mark();
}

}  // namespace sr::replay::lower
