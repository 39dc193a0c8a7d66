// Further pointwise ops: aliases, numbers on the left, selections.
#pragma once

#include <ATen/CPUFunctions.h>
#include <ATen/NativeFunctions.h>
#include <ATen/Operators.h>

#include <sr/ops/parts.hpp>
#include <sr/ops/pointwise/comparison_lowering.hpp>
#include <sr/ops/pointwise/entries.hpp>
#include <sr/ops/pointwise/iterators.hpp>
#include <sr/ops/pointwise/layouts.hpp>
#include <sr/ops/pointwise/lowering.hpp>
#include <sr/ops/pointwise/wrap_numbers.hpp>
#include <sr/registry/dispatched.hpp>
#include <sr/registry/op.hpp>
#include <sr/replay/sizes/common_layouts.hpp>

namespace sr::ops {

struct DivideRounded {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, const at::Tensor& other, std::optional<std::string_view> mode,
                  at::Tensor& out) const {
    at::cpu::div_out(out, self, other, mode);
  }
};

struct ReverseSubtract {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                  at::Tensor& out) const {
    at::cpu::sub_out(out, other, self, alpha);
  }
};

struct FloorDivide {
  void operator()(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) const {
    at::native::floor_divide_out(self, other, out);
  }
};

struct AddRelu {
  void operator()(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                  at::Tensor& out) const {
    at::native::add_relu_out(self, other, alpha, out);
  }
};

struct Where {
  void operator()(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other,
                  at::Tensor& out) const {
    at::native::where_self_out(condition, self, other, out);
  }
};

struct Relu6 {
  static constexpr OutTraits traits = kPointwise;
  void operator()(const at::Tensor& self, at::Tensor& out) const {
    TORCH_CHECK(self.scalar_type() != at::kBool, "Bool inputs not supported for hardtanh");
    at::native::hardtanh_out(self, 0, 6, out);
  }
};

// NaN is the only value that differs from itself.
struct IsNan {
  static constexpr OutTraits traits{.keeps_strides = true};
  void operator()(const at::Tensor& self, at::Tensor& out) const { at::cpu::ne_out(out, self, self); }
};

// An op with which LibTorch tests its own fallback.
struct TestFunctorchFallback {
  void operator()(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) const {
    at::native::_test_functorch_fallback_out(self, other, out);
  }
};

namespace registered {

inline const OutVariant<"aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::mul_out>, 1>, Layouts<&layouts::pointwise>,
                        Facts<Fact::makes_new_results>>
    multiply_scalar;
inline const OutVariant<"aten::divide.Scalar(Tensor self, Scalar other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::div_out>, 1>, Layouts<&layouts::pointwise>,
                        Facts<Fact::makes_new_results>>
    divide_scalar;
inline const OutVariant<"aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::div_out>, 1>, Layouts<&layouts::pointwise>,
                        Facts<Fact::makes_new_results>>
    true_divide_scalar;
inline const OutVariant<"aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                        WrapNumbers<BinaryScaled<&at::cpu::sub_out>, 1>, Layouts<&layouts::pointwise>,
                        Facts<Fact::makes_new_results>>
    subtract_scalar;
inline const OutVariant<"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
                        DivideRounded, Iterator<native::structured_div_out_mode>,
                        InPlace<at::_ops::div__Tensor_mode, Fact::functional_on_floats>>
    div_tensor_mode;
inline const OutVariant<"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
                        WrapNumbers<DivideRounded, 1>, Iterator<native::structured_div_out_mode>,
                        InPlace<at::_ops::div__Scalar_mode, Fact::functional_on_floats>>
    div_scalar_mode;
inline const OutVariant<
    "aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    WrapNumbers<DivideRounded, 1>, Layouts<&layouts::pointwise>>
    divide_scalar_mode;
inline const OutVariant<"aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
                        ReverseSubtract, Lower<&lower::reverse_sub>, LowerToIterator<&lower::reverse_sub_any>,
                        Layouts<&layouts::pointwise_reversed>>
    rsub_tensor;
inline const OutVariant<"aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                        WrapNumbers<ReverseSubtract, 1>, Lower<&lower::reverse_sub>,
                        LowerToIterator<&lower::reverse_sub_any>, Layouts<&layouts::pointwise>>
    rsub_scalar;
inline const OutVariant<"aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
                        WrapNumbers<FloorDivide, 1>, LowerToIterator<&lower::floor_divide>,
                        Layouts<&layouts::pointwise>>
    floor_divide_scalar;
inline const OutVariant<"aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::remainder_out>, 0>>
    remainder_scalar_tensor;
inline const OutVariant<"aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::bitwise_and_out>, 0>>
    bitwise_and_scalar_tensor;
inline const OutVariant<"aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::bitwise_or_out>, 0>>
    bitwise_or_scalar_tensor;
inline const OutVariant<"aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::bitwise_xor_out>, 0>>
    bitwise_xor_scalar_tensor;
inline const OutVariant<"aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::bitwise_left_shift_out>, 0>>
    bitwise_left_shift_scalar_tensor;
inline const OutVariant<"aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
                        WrapNumbers<Binary<&at::cpu::bitwise_right_shift_out>, 0>>
    bitwise_right_shift_scalar_tensor;
inline const OutVariant<"aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor",
                        Binary<&at::cpu::bitwise_and_out>, Lower<&lower::bitwise<vector_ops::And>>,
                        Layouts<&layouts::pointwise>>
    and_tensor;
inline const OutVariant<"aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor",
                        Binary<&at::cpu::bitwise_or_out>, Lower<&lower::bitwise<vector_ops::Or>>,
                        Layouts<&layouts::pointwise>>
    or_tensor;
inline const OutVariant<"aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor",
                        Binary<&at::cpu::bitwise_xor_out>, Lower<&lower::bitwise<vector_ops::Xor>>,
                        Layouts<&layouts::pointwise>>
    xor_tensor;
inline const OutVariant<"aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
                        WrapNumbers<AddRelu, 1>, Layouts<&layouts::pointwise>>
    add_relu_scalar;
inline const OutVariant<
    "aten::relu6(Tensor self) -> Tensor", Relu6, Lower<&lower::absorbed_or<Epilogue::clamp, &lower::relu6>>,
    LowerToIterator<&lower::relu6_any>, InPlace<at::_ops::relu6_, Fact::same_when_functional>>
    relu6;
inline const OutVariant<"aten::isnan(Tensor self) -> Tensor", IsNan, Lower<&lower::is_nan>> is_nan;
inline const OutVariant<"aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
                        WrapNumbers<Where, 2>, Lower<&lower::choose>, Layouts<&layouts::pointwise>>
    where_scalar_other;
inline const OutVariant<"aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
                        WrapNumbers<Where, 1>, Lower<&lower::choose>, Layouts<&layouts::pointwise>>
    where_scalar_self;
inline const OutVariant<"aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
                        WrapNumbers<Where, 1, 2>, Lower<&lower::choose>, Layouts<&layouts::pointwise>>
    where_scalar;
inline const OutVariant<"aten::_test_functorch_fallback(Tensor self, Tensor other) -> Tensor",
                        TestFunctorchFallback>
    test_functorch_fallback;

}  // namespace registered
}  // namespace sr::ops
