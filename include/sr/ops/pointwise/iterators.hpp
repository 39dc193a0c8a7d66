// Pointwise operators on LibTorch's kernels and bound iterators, where the plain form `lower::structured`
// does not fit.
#pragma once

#include <sr/ops/pointwise/iterator_headers.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/structured.hpp>

namespace sr::replay::lower {

// For integers these operators are copies.
template <class Op>
bool rounded(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  if (in && c10::isIntegralType(in->dtype, /*includeBool=*/false)) return copy(lowering, node);
  return structured<Op>(lowering, node);
}

// sub(other, self, alpha)
inline bool reverse_sub_any(Lowering& lowering, const TracedNode& node) {
  return structured_on<native::structured_sub_out>(lowering, node,
                                                   {node.inputs[1], node.inputs[0], node.inputs[2]});
}

inline bool relu_any(Lowering& lowering, const TracedNode& node) {
  return structured_on<native::structured_clamp_min_out>(lowering, node, {node.inputs[0], 0});
}

inline bool square_any(Lowering& lowering, const TracedNode& node) {
  return structured_on<native::structured_pow_Tensor_Scalar_out>(lowering, node, {node.inputs[0], 2});
}

inline bool power_of_number(Lowering& lowering, const TracedNode& node) {
  if (!node.inputs[0].isScalar() || node.inputs[0].toScalar().equal(1.0)) return false;
  return structured<native::structured_pow_Tensor_Tensor_out>(lowering, node);
}

// Limits for integers are rounded first, which this kernel does not do.
inline bool hardtanh_any(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  return in && c10::isFloatingType(in->dtype) && structured<native::structured_clamp_out>(lowering, node);
}

inline bool relu6_any(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  return in && c10::isFloatingType(in->dtype) &&
         structured_on<native::structured_clamp_out>(lowering, node, {node.inputs[0], 0, 6});
}

inline bool selu_any(Lowering& lowering, const TracedNode& node) {
  return structured_on<native::structured_elu_out>(
      lowering, node,
      {node.inputs[0], 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1});
}

template <auto& Stub>
bool same_dtype(Lowering& lowering, const TracedNode& node) {
  return stub_on(
      lowering, node, 1, false,
      [](at::Tensor& out, const Tensors& in) { return at::TensorIterator::unary_op(out, in[0]); },
      [](at::TensorIterator& iterator) { Stub(at::kCPU, iterator); });
}

template <auto& Stub>
bool logical(Lowering& lowering, const TracedNode& node) {
  return stub_on(
      lowering, node, 2, true,
      [](at::Tensor& out, const Tensors& in) { return at::TensorIterator::comparison_op(out, in[0], in[1]); },
      [](at::TensorIterator& iterator) { Stub(at::kCPU, iterator); });
}

inline bool logical_not(Lowering& lowering, const TracedNode& node) {
  return stub_on(
      lowering, node, 1, true,
      [](at::Tensor& out, const Tensors& in) {
        return at::TensorIteratorConfig()
            .check_all_same_dtype(false)
            .add_output(out)
            .add_const_input(in[0])
            .build();
      },
      [](at::TensorIterator& iterator) { native::logical_not_stub(at::kCPU, iterator); });
}

inline bool floor_divide(Lowering& lowering, const TracedNode& node) {
  return stub_on(
      lowering, node, 2, false,
      [](at::Tensor& out, const Tensors& in) { return at::TensorIterator::binary_op(out, in[0], in[1]); },
      [](at::TensorIterator& iterator) { native::div_floor_stub(at::kCPU, iterator); });
}

inline bool nan_to_num(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  if (!in || !c10::isFloatingType(in->dtype)) return in && copy(lowering, node);
  const auto nan = node.inputs[1].toOptional<double>(), positive = node.inputs[2].toOptional<double>(),
             negative = node.inputs[3].toOptional<double>();
  return stub_on(
      lowering, node, 1, false,
      [](at::Tensor& out, const Tensors& tensors) { return at::TensorIterator::unary_op(out, tensors[0]); },
      [=](at::TensorIterator& iterator) {
        native::nan_to_num_stub(at::kCPU, iterator, nan, positive, negative);
      });
}

inline bool logit(Lowering& lowering, const TracedNode& node) {
  const at::Scalar epsilon = node.inputs[1].toOptional<double>().value_or(-1.0);
  return stub_on(
      lowering, node, 1, false,
      [](at::Tensor& out, const Tensors& in) { return at::TensorIterator::unary_float_op(out, in[0]); },
      [=](at::TensorIterator& iterator) { native::logit_stub(at::kCPU, iterator, epsilon); });
}

// where(condition, self, other). Operands of two dtypes are left to LibTorch.
inline bool where(Lowering& lowering, const TracedNode& node) {
  const auto condition = lowering.input(node, 0), self = lowering.input(node, 1),
             other = lowering.input(node, 2);
  const c10::ScalarType dtype = lowering.output(node).dtype;
  if (!condition || !self || !other || condition->dtype != c10::kBool) return false;
  if (self->dtype != dtype || other->dtype != dtype) return false;
  return stub_on(
      lowering, node, 3, true,
      [](at::Tensor& out, const Tensors& in) {
        return at::TensorIteratorConfig()
            .check_all_same_dtype(false)
            .add_output(out)
            .add_const_input(in[0])
            .add_const_input(in[1])
            .add_const_input(in[2])
            .build();
      },
      [](at::TensorIterator& iterator) { native::where_kernel(at::kCPU, iterator); });
}

}  // namespace sr::replay::lower
