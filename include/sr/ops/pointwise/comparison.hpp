// Comparisons and logic on tensors.
#pragma once

#include <ATen/CPUFunctions.h>
#include <ATen/Operators.h>

#include <sr/ops/parts.hpp>
#include <sr/ops/pointwise/comparison_lowering.hpp>
#include <sr/ops/pointwise/entries.hpp>
#include <sr/ops/pointwise/iterators.hpp>
#include <sr/registry/dispatched.hpp>

namespace sr::ops::registered {

inline const OutVariant<"aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::eq_out>,
                        Lower<&lower::compare<vector_ops::Equal>>, Iterator<native::structured_eq_Tensor_out>>
    eq_tensor;
inline const OutVariant<"aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::ne_out>,
                        Lower<&lower::compare<vector_ops::NotEqual>>,
                        Iterator<native::structured_ne_Tensor_out>>
    ne_tensor;
inline const OutVariant<"aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::lt_out>,
                        Lower<&lower::compare<vector_ops::Less>>, Iterator<native::structured_lt_Tensor_out>>
    lt_tensor;
inline const OutVariant<"aten::le.Tensor(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::le_out>,
                        Lower<&lower::compare<vector_ops::LessEqual>>,
                        Iterator<native::structured_le_Tensor_out>>
    le_tensor;
inline const OutVariant<"aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::gt_out>,
                        Lower<&lower::compare<vector_ops::Greater>>,
                        Iterator<native::structured_gt_Tensor_out>>
    gt_tensor;
inline const OutVariant<"aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", Binary<&at::cpu::ge_out>,
                        Lower<&lower::compare<vector_ops::GreaterEqual>>,
                        Iterator<native::structured_ge_Tensor_out>>
    ge_tensor;
inline const OutVariant<"aten::eq.Scalar(Tensor self, Scalar other) -> Tensor",
                        UnaryWithNumber<&at::cpu::eq_out>, Lower<&lower::compare<vector_ops::Equal>>,
                        Iterator<native::structured_eq_Scalar_out>>
    eq_scalar;
inline const OutVariant<"aten::ne.Scalar(Tensor self, Scalar other) -> Tensor",
                        UnaryWithNumber<&at::cpu::ne_out>, Lower<&lower::compare<vector_ops::NotEqual>>,
                        Iterator<native::structured_ne_Scalar_out>>
    ne_scalar;
inline const OutVariant<"aten::lt.Scalar(Tensor self, Scalar other) -> Tensor",
                        UnaryWithNumber<&at::cpu::lt_out>, Lower<&lower::compare<vector_ops::Less>>,
                        Iterator<native::structured_lt_Scalar_out>>
    lt_scalar;
inline const OutVariant<"aten::le.Scalar(Tensor self, Scalar other) -> Tensor",
                        UnaryWithNumber<&at::cpu::le_out>, Lower<&lower::compare<vector_ops::LessEqual>>,
                        Iterator<native::structured_le_Scalar_out>>
    le_scalar;
inline const OutVariant<"aten::gt.Scalar(Tensor self, Scalar other) -> Tensor",
                        UnaryWithNumber<&at::cpu::gt_out>, Lower<&lower::compare<vector_ops::Greater>>,
                        Iterator<native::structured_gt_Scalar_out>>
    gt_scalar;
inline const OutVariant<"aten::ge.Scalar(Tensor self, Scalar other) -> Tensor",
                        UnaryWithNumber<&at::cpu::ge_out>, Lower<&lower::compare<vector_ops::GreaterEqual>>,
                        Iterator<native::structured_ge_Scalar_out>>
    ge_scalar;
inline const OutVariant<"aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor",
                        Binary<&at::cpu::bitwise_and_out>, Lower<&lower::bitwise<vector_ops::And>>,
                        Iterator<native::structured_bitwise_and_out>, InPlace<at::_ops::bitwise_and__Tensor>>
    bitwise_and_tensor;
inline const OutVariant<"aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor",
                        Binary<&at::cpu::bitwise_or_out>, Lower<&lower::bitwise<vector_ops::Or>>,
                        Iterator<native::structured_bitwise_or_out>, InPlace<at::_ops::bitwise_or__Tensor>>
    bitwise_or_tensor;
inline const OperatorOf<at::_ops::bitwise_and_Scalar, Iterator<native::structured_bitwise_and_out>>
    bitwise_and_Scalar;
inline const OperatorOf<at::_ops::bitwise_or_Scalar, Iterator<native::structured_bitwise_or_out>>
    bitwise_or_Scalar;
inline const OperatorOf<at::_ops::bitwise_xor_Scalar, Iterator<native::structured_bitwise_xor_out>>
    bitwise_xor_Scalar;
inline const OperatorOf<at::_ops::bitwise_xor_Tensor, Lower<&lower::bitwise<vector_ops::Xor>>,
                        Iterator<native::structured_bitwise_xor_out>, InPlace<at::_ops::bitwise_xor__Tensor>>
    bitwise_xor_Tensor;
inline const OperatorOf<at::_ops::logical_and, Lower<&lower::logical<vector_ops::And>>,
                        LowerToIterator<&lower::logical<native::logical_and_stub>>,
                        InPlace<at::_ops::logical_and_>>
    logical_and;
inline const OperatorOf<at::_ops::logical_not, Lower<&lower::logical<vector_ops::Not>>,
                        LowerToIterator<&lower::logical_not>, InPlace<at::_ops::logical_not_>>
    logical_not;
inline const OperatorOf<at::_ops::logical_or, Lower<&lower::logical<vector_ops::Or>>,
                        LowerToIterator<&lower::logical<native::logical_or_stub>>,
                        InPlace<at::_ops::logical_or_>>
    logical_or;
inline const OperatorOf<at::_ops::logical_xor, Lower<&lower::logical<vector_ops::Xor>>,
                        LowerToIterator<&lower::logical<native::logical_xor_stub>>,
                        InPlace<at::_ops::logical_xor_>>
    logical_xor;

}  // namespace sr::ops::registered
