// cat and stack as copies of the tensors that are not already written in place.
#pragma once

#include <utility>
#include <vector>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/placement.hpp>

namespace sr::replay::lower {

// Values that were placed in the result need no copy.
template <bool kStacks>
bool join(Lowering& lowering, const TracedNode& node) {
  const Operand out = lowering.output(node);
  if (lowering.parts_kept_apart(out.storage) != nullptr) return true;
  std::vector<std::pair<Operand, Operand>> pairs;
  for (const JoinedPart& part : parts_of(lowering.trace(), node, kStacks, out.strides)) {
    if (part.tensor.scalar_type() != out.dtype) return false;
    if (lowering.is_placed(part.tensor)) continue;
    const Operand in = lowering.operand(part.tensor);
    Operand to = out;
    to.sizes = in.sizes;
    to.strides = part.strides;
    to.offset += part.offset;
    pairs.emplace_back(in, std::move(to));
  }
  return emit_copies(lowering, pairs);
}

}  // namespace sr::replay::lower
