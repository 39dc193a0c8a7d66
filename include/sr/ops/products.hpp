// Matrix products.
#pragma once

#include <ATen/CPUFunctions.h>
#include <ATen/Functions.h>

#include <sr/op.hpp>

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
  void operator()(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, const at::Scalar& beta,
                  const at::Scalar& alpha, at::Tensor& out) const {
    at::cpu::addmm_out(out, self, mat1, mat2, beta, alpha);
  }
};

struct Baddbmm {
  static constexpr OutTraits traits = kProduct;
  void operator()(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2, const at::Scalar& beta,
                  const at::Scalar& alpha, at::Tensor& out) const {
    at::cpu::baddbmm_out(out, self, batch1, batch2, beta, alpha);
  }
};

struct Matmul {
  void operator()(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) const {
    at::native::matmul_out(self, other, out);
  }
};

struct Linear {
  void operator()(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                  at::Tensor& out) const {
    at::native::linear_out(input, weight, bias, out);
  }
};

inline const OutVariant<"aten::mm(Tensor self, Tensor mat2) -> Tensor", Mm> mm;
inline const OutVariant<"aten::bmm(Tensor self, Tensor mat2) -> Tensor", Bmm> bmm;
inline const OutVariant<
    "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Addmm>
    addmm;
inline const OutVariant<
    "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Baddbmm>
    baddbmm;
inline const OutVariant<"aten::matmul(Tensor self, Tensor other) -> Tensor", Matmul> matmul;
inline const OutVariant<"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", Linear> linear;

}  // namespace sr::ops
