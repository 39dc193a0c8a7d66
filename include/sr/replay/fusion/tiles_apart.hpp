// Decides if threads may run the tiles of a fused step in any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <sr/replay/steps/fused_step.hpp>

namespace sr::replay::detail {

// True if tiles depend on each other at no element: what an operation writes to memory, others write and
// read in the same order or not at all. `scratch` is the base of operands that each thread has for itself.
inline bool tiles_are_apart(const FusedStep& step, std::uint32_t scratch) {
  struct Access {
    TileOperand at;
    bool is_copy;
  };
  std::vector<Access> writes, reads;
  for (const TileOp& op : step.ops) {
    const bool is_copy = op.copy >= 0;
    if (op.out.address.base != scratch) writes.push_back({op.out, is_copy});
    for (std::uint32_t i = 0; i < op.operands; ++i) reads.push_back({op.in[i], is_copy});
  }
  for (const RowTail& tail : step.tails) writes.push_back({{tail.out, -1}, false});
  return std::ranges::none_of(writes, [&](const Access& write) {
    const auto conflicts = [&](const Access& other) {
      return other.at.address.base == write.at.address.base &&
             (other.is_copy || write.is_copy || !(other.at == write.at));
    };
    const auto is_other = [&](const Access& other) { return &other != &write && conflicts(other); };
    return std::ranges::any_of(reads, conflicts) || std::ranges::any_of(writes, is_other);
  });
}

}  // namespace sr::replay::detail
