// Pairs of vector ops that are frequent enough to be one op: an addition or a product, and the relu of it.
// The values are the same, and a chain is one link shorter.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <sr/kernels/kernels.hpp>
#include <sr/replay/steps/tile_op.hpp>

namespace sr::replay {

namespace detail {

struct VectorOpPair {
  const kernels::VectorLoops *first, *second, *joined;
};

inline const std::array<VectorOpPair, 2>& vector_op_pairs() {
  using namespace kernels;
  static const std::array<VectorOpPair, 2> pairs{
      VectorOpPair{&loops<vector_ops::Add>(), &loops<vector_ops::Relu>(), &loops<vector_ops::AddRelu>()},
      VectorOpPair{&loops<vector_ops::Mul>(), &loops<vector_ops::Relu>(), &loops<vector_ops::MulRelu>()}};
  return pairs;
}

// True if anything but the next operation reads the result of operation `i`.
inline bool is_read_besides(const std::vector<TileOp>& ops, std::size_t i,
                            const std::vector<TileOperand>& read_after) {
  const TileOperand& made = ops[i].out;
  if (made == ops[i + 1].out) return false;
  if (made.advance != 0) return true;
  for (std::size_t j = i + 2; j < ops.size(); ++j) {
    const auto* const end = ops[j].in.begin() + ops[j].operands;
    if (std::find(ops[j].in.begin(), end, made) != end) return true;
    if (ops[j].out == made) return false;
  }
  return std::find(read_after.begin(), read_after.end(), made) != read_after.end();
}

}  // namespace detail

// `read_after` lists what is read from memory after all operations.
inline void join_vector_op_pairs(std::vector<TileOp>& ops, const std::vector<TileOperand>& read_after) {
  for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
    if (ops[i].links == nullptr || ops[i + 1].operands != 1 || ops[i + 1].in[0] != ops[i].out) continue;
    const auto& pairs = detail::vector_op_pairs();
    const auto* const pair = std::find_if(pairs.begin(), pairs.end(), [&](const detail::VectorOpPair& known) {
      return known.first->links == ops[i].links && known.second->links == ops[i + 1].links;
    });
    if (pair == pairs.end() || detail::is_read_besides(ops, i, read_after)) continue;
    ops[i].loop = pair->joined->by_scalars[ops[i].scalars];
    ops[i].links = pair->joined->links;
    ops[i].out = ops[i + 1].out;
    ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

}  // namespace sr::replay
