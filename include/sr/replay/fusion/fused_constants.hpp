// Constants in the form in which a fused step reads them.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include <ATen/Functions.h>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/fusion/iteration_space.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/fused_step.hpp>

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
  std::int64_t left = space.count().pin();
  const Numbers of_sizes = pinned(sizes), of_strides = pinned(strides);
  at::Tensor all = at::empty({left}, operand.dtype);
  kernels::StridedCopy shape;
  shape.width = c10::elementSize(operand.dtype);
  for (const std::size_t d : space.order()) {
    left /= of_sizes[d];
    shape.sizes[shape.rank] = of_sizes[d];
    shape.in_strides[shape.rank] = of_strides[d];
    shape.out_strides[shape.rank++] = left;
  }
  kernels::kernels().table.copy(shape, lowering.constant_bytes(operand), all.mutable_data_ptr());
  return lowering.literal({space.count()}, std::move(all));
}

// The address of a constant with one element for each place of a whole tile of the step. `strides` are those
// along the iteration space.
inline Address spread_over_tile(Lowering& lowering, const Operand& operand, const Dims& strides,
                                const FusedStep& step) {
  kernels::StridedCopy shape;
  shape.width = c10::elementSize(operand.dtype);
  std::int64_t inner = 1;
  for (std::size_t d = step.split + 1; d < strides.size(); ++d) inner *= step.sizes_of[d].recorded();
  const std::int64_t rows = static_cast<std::int64_t>(kTile) / inner;
  auto add = [&, left = rows * inner](std::int64_t size, std::int64_t stride) mutable {
    left /= size;
    shape.sizes[shape.rank] = size;
    shape.in_strides[shape.rank] = stride;
    shape.out_strides[shape.rank++] = left;
  };
  add(rows, 0);
  for (std::size_t d = step.split + 1; d < strides.size(); ++d)
    add(step.sizes_of[d].recorded(), strides[d].pin());
  at::Tensor tile = at::empty({rows * inner}, operand.dtype);
  kernels::kernels().table.copy(shape, lowering.constant_bytes(operand), tile.mutable_data_ptr());
  return lowering.address(lowering.literal({rows * inner}, std::move(tile)));
}

}  // namespace sr::replay::detail
