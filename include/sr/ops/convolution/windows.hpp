// The window arguments of convolutions and pooling.
#pragma once

#include <array>
#include <cstdint>

#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

using kernels::Axis;

// The number of elements from the first of a window to its last.
inline std::int64_t reach(const Axis& axis) {
  return (axis.kernel - 1) * axis.dilation;
}
// The number of elements of a phase that the results need.
inline std::int64_t phase(const Axis& axis) {
  return axis.out + reach(axis) / axis.step;
}

// Reads the numbers for the last `rank` of the axes y and x: one for all of them, or one for each.
inline void read_axes(const c10::IValue& list, std::size_t rank, std::ptrdiff_t Axis::*member,
                      std::array<Axis, 2>& axes) {
  const auto values = list.toIntVector();
  for (std::size_t d = 0; d < rank; ++d) axes[2 - rank + d].*member = values[values.size() == 1 ? 0 : d];
}

// Adds a dimension of one row to the operand of a one-dimensional image.
inline void add_row_dimension(Operand& operand) {
  operand.sizes.insert(operand.sizes.end() - 1, 1);
  operand.strides.insert(operand.strides.end() - 1, operand.strides.back() * operand.sizes.back());
}

}  // namespace sr::replay::lower
