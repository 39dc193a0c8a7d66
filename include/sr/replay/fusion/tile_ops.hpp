// Makes the operations on tiles that move values between a group's operands and its scratch.
#pragma once

#include <algorithm>
#include <cstddef>

#include <sr/kernels/kernels.hpp>
#include <sr/kernels/vector_ops.hpp>
#include <sr/replay/lowering/draft.hpp>
#include <sr/replay/steps/tile_op.hpp>

namespace sr::replay::detail {

inline TileOp conversion(c10::ScalarType from, c10::ScalarType to, const TileOperand& in,
                         const TileOperand& out) {
  TileOp tile;
  tile.operands = 1;
  tile.convert = kernels::kernels().table.convert[static_cast<std::size_t>(*element_of(from))]
                                                 [static_cast<std::size_t>(*element_of(to))];
  tile.in[0] = in;
  tile.out = out;
  return tile;
}

// Rounds floats in scratch to a 16-bit type, so that the operations that read them see what memory would
// hold.
inline TileOp rounding(const TileOperand& values, c10::ScalarType to) {
  namespace vector_ops = kernels::vector_ops;
  const kernels::VectorLoops& vector_op = to == c10::kHalf ? kernels::loops<vector_ops::RoundToFloat16>()
                                                           : kernels::loops<vector_ops::RoundToBfloat16>();
  TileOp tile;
  tile.operands = 1;
  tile.loop = vector_op.by_scalars[0];
  tile.links = vector_op.links;
  tile.in[0] = tile.out = values;
  return tile;
}

// True if the operation changes no value, only its type.
inline bool only_converts(const Compute& compute) {
  using kernels::vector_ops::Same;
  return compute.vector_op != nullptr ? compute.vector_op == &kernels::loops<Same>()
                                      : compute.loops64 == kernels::loops_of_doubles<Same>() ||
                                            compute.loops64 == kernels::loops_of_integers<Same>();
}

// The bytes of an element in scratch, which also holds values of other types on their way from or to memory.
inline std::size_t widest_element(const Group& group) {
  std::size_t widest = c10::elementSize(group.type);
  for (const PointwiseOp& op : group.ops) {
    widest = std::max(widest, c10::elementSize(op.out.dtype));
    for (const PointwiseInput& input : op.inputs) {
      if (input.operand) widest = std::max(widest, c10::elementSize(input.operand->dtype));
    }
  }
  return widest;
}

}  // namespace sr::replay::detail
