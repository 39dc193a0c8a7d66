// Constants in the form in which a fused step reads them.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include <ATen/Functions.h>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/iteration_space.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::detail {

template <class T>
double leading_bytes(T value) {
  double result = 0;
  std::memcpy(&result, &value, sizeof(value));
  return result;
}

// The number in the type that a group computes in. Vector ops read it at the beginning of the double.
inline double as_computed(double number, c10::ScalarType type) {
  if (type == c10::kFloat) return leading_bytes(static_cast<float>(number));
  return type == c10::kDouble ? number : leading_bytes(static_cast<std::int64_t>(number));
}

// A constant with one element for each place of the iteration space, whose dimensions have `sizes`.
inline Operand spread_out(Lowering& lowering, const Operand& operand, const IterationSpace& space,
                          const Dims& sizes) {
  const Dims strides = broadcast_strides(operand, sizes);
  auto left = static_cast<std::int64_t>(space.count());
  at::Tensor all = at::empty({left}, operand.dtype);
  kernels::StridedCopy shape;
  shape.width = c10::elementSize(operand.dtype);
  for (const std::size_t d : space.order()) {
    left /= sizes[d];
    shape.sizes[shape.rank] = sizes[d];
    shape.in_strides[shape.rank] = strides[d];
    shape.out_strides[shape.rank++] = left;
  }
  kernels::kernels().table.copy(shape, lowering.constant_bytes(operand), all.mutable_data_ptr());
  return lowering.literal({static_cast<std::int64_t>(space.count())}, std::move(all));
}

}  // namespace sr::replay::detail
