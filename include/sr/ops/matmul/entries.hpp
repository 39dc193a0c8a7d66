// Matrix products.
#pragma once

#include <sr/base/dispatch_stub.hpp>

#include <ATen/CPUFunctions.h>
#include <ATen/Functions.h>
#include <ATen/native/Resize.h>

#include <sr/ops/matmul/einsum_layouts.hpp>
#include <sr/ops/matmul/einsum_lowering.hpp>
#include <sr/ops/matmul/gemm_lowering.hpp>
#include <sr/ops/matmul/int8_gemm_lowering.hpp>
#include <sr/ops/matmul/layouts.hpp>
#include <sr/ops/matmul/lowering.hpp>
#include <sr/ops/parts.hpp>
#include <sr/ops/quantized/remarks.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>
#include <sr/registry/out_protocol.hpp>
#include <sr/replay/lowering/hooks.hpp>

namespace sr::ops {

inline constexpr OutTraits kProduct{.keeps_strides = true};

struct Mm {
  static constexpr OutTraits traits = kProduct;
  void operator()(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) const {
    at::cpu::mm_out(out, self, mat2);
  }
};

struct Bmm {
  static constexpr OutTraits traits = kProduct;
  void operator()(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) const {
    at::cpu::bmm_out(out, self, mat2);
  }
};

struct Addmm {
  static constexpr OutTraits traits = kProduct;
  void operator()(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
                  const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) const {
    at::cpu::addmm_out(out, self, mat1, mat2, beta, alpha);
  }
};

struct Baddbmm {
  static constexpr OutTraits traits = kProduct;
  void operator()(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                  const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) const {
    at::cpu::baddbmm_out(out, self, batch1, batch2, beta, alpha);
  }
};

// LibTorch multiplies a vector as a matrix of one row, and resizes the output to that matrix meanwhile: if
// the output has elements, it warns.
//
// Without `out`, LibTorch multiplies all rows of the larger operand at once if the smaller one requires a
// gradient, whatever the strides of the rows are (should_fold in ATen/native/LinearAlgebra.cpp).
inline void multiply(const at::Tensor& self, const at::Tensor& other, at::Tensor& out,
                     bool requires_gradient) {
  const std::int64_t larger = std::max(self.dim(), other.dim()), smaller = std::min(self.dim(), other.dim());
  if (requires_gradient && larger >= 3 && smaller >= 1 && smaller <= 2) {
    const at::Tensor made = at::native::matmul(self, other);
    at::native::resize_output(out, made.sizes());
    out.copy_(made);
    return;
  }
  if (self.dim() == 1 && other.dim() == 2) sr::detail::shrink(out);
  at::native::matmul_out(self, other, out);
}

struct Matmul {
  void operator()(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) const {
    multiply(self, other, out, (self.dim() >= other.dim() ? other : self).requires_grad());
  }
};

// Calls the same products as the functional op, so that results are bit-identical: one addmm over all rows if
// there is a bias of one dimension, else matmul. The transposed view of a constant weight is made once.
struct Linear {
  void operator()(NodeView& node) const {
    const at::Tensor& input = node.input(0).toTensor();
    const at::Tensor& weight = node.input(1).toTensor();
    at::Tensor& out = node.output(0).toTensor();
    at::Tensor transposed = transpose(node, weight);
    const bool has_bias = !node.input(2).isNone() && node.input(2).toTensor().defined();
    if (has_bias && input.dim() == 2) {
      at::cpu::addmm_out(out, node.input(2).toTensor(), input, transposed);
      return;
    }
    if (!has_bias || node.input(2).toTensor().dim() != 1 || input.dim() < 1 || !input.is_contiguous()) {
      if (weight.requires_grad() && !transposed.requires_grad()) transposed.requires_grad_();
      multiply(input, transposed, out, weight.requires_grad());
      if (has_bias) out.add_(node.input(2).toTensor());
      return;
    }
    const at::Tensor& bias = node.input(2).toTensor();
    c10::SmallVector<std::int64_t, 5> sizes(input.sizes().begin(), input.sizes().end());
    sizes.back() = weight.size(0);
    at::native::resize_output(out, sizes);
    const std::int64_t count = c10::multiply_integers(sizes.begin(), sizes.end() - 1);
    at::Tensor rows = out.view({count, weight.size(0)});
    at::cpu::addmm_out(rows, bias, input.reshape({count, input.size(-1)}), transposed);
  }

 private:
  static at::Tensor transpose(const NodeView& node, const at::Tensor& weight) {
    if (!node.is_constant(1)) return weight.t();
    NodeState& state = node.state();
    if (state.derived_from != weight.unsafeGetTensorImpl()) {
      state.derived = weight.t();
      state.derived_from = weight.unsafeGetTensorImpl();
    }
    return state.derived;
  }
};

namespace registered {

inline const OutVariant<"aten::mm(Tensor self, Tensor mat2) -> Tensor", Mm, Lower<&lower::mm>,
                        Layouts<&layouts::mm>>
    mm;
inline const OutVariant<"aten::bmm(Tensor self, Tensor mat2) -> Tensor", Bmm, Lower<&lower::bmm>,
                        Layouts<&layouts::bmm>>
    bmm;
inline const OutVariant<
    "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Addmm,
    Lower<&lower::addmm>, Layouts<&layouts::addmm>>
    addmm;
inline const OutVariant<
    "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    Baddbmm, Layouts<&layouts::baddbmm>>
    baddbmm;
inline const OutVariant<"aten::matmul(Tensor self, Tensor other) -> Tensor", Matmul, Lower<&lower::matmul>,
                        Layouts<&layouts::matmul>>
    matmul;
inline const NodeOp<"aten::linear", Linear, NodeKind::out_variant, Lower<&lower::linear>,
                    Layouts<&layouts::linear>>
    linear;
// Without a functor of sr.
inline const Operator<"aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", Lower<&lower::int_mm>,
                      Layouts<&layouts::mm>>
    parts_of_int_mm;
inline const Operator<"aten::outer", Facts<Fact::makes_new_results>, Layouts<&layouts::outer>> facts_of_outer;
inline const Operator<"aten::tensordot", Facts<Fact::makes_new_results>, Lower<&lower::tensordot>,
                      Layouts<&layouts::tensordot>>
    facts_of_tensordot;

inline const Hook<replay::BeforeLowering> keep_parts_of_products{&lower::keep_parts_of_products};
inline const Hook<replay::Remark> remark_on_quantization{&lower::quantization_remark};
inline const Hook<replay::Absorb<Epilogue::relu>> clamp_products{&lower::clamp_products};
inline const Hook<replay::Absorb<Epilogue::relu>> clamp_sums{&lower::clamp_sums};
inline const Hook<replay::Absorb<Epilogue::add>> add_to_sums{&lower::add_to_sums};
inline const Hook<replay::Absorb<Epilogue::multiply>> multiply_sums{&lower::multiply_sums};
inline const Hook<replay::Absorb<Epilogue::convert>> convert_sums{&lower::convert_sums};

inline const NewTensorsOf<at::_ops::bilinear> bilinear;

inline const NativeOf<at::_ops::einsum, Lower<&replay::lower::einsum>, Layouts<&replay::layouts::einsum>>
    einsum;

inline const Operator<"aten::inner", Facts<Fact::makes_new_results>> facts_of_inner;

inline const Operator<"aten::kron", Facts<Fact::makes_new_results>> facts_of_kron;

inline const Operator<"aten::linalg_multi_dot", Facts<Fact::makes_new_results>> facts_of_linalg_multi_dot;

// The `.out` overload leaves its output empty.
inline const Operator<"aten::fft_ihfftn", Facts<Fact::out_differs>> facts_of_fft_ihfftn;

}  // namespace registered
}  // namespace sr::ops
