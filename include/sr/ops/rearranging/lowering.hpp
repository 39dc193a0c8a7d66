// Operators whose result is made of parts of their argument: roll, padding with a number, and repeated
// indices. Each is one step that copies the parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ops/full.h>

#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay::lower {

using CopiedParts = std::vector<std::pair<Operand, Operand>>;

// roll(x, shifts, dims), where no dimension is named twice. Element i of a dimension of size n moves to index
// (i + shift) mod n. So each dimension is cut into two parts.
inline bool roll(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  const auto shifts = fixed_integers(node, 1), dims = fixed_integers(node, 2);
  if (!in || in->dtype != out.dtype || !shifts || !dims || dims->size() != shifts->size() || dims->empty())
    return false;
  std::vector<bool> is_rolled(in->rank());
  CopiedParts parts{{*in, out}};
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const std::size_t d = from_front((*dims)[i], in->rank());
    if (is_rolled[d]) return false;
    is_rolled[d] = true;
    const std::int64_t size = in->sizes[d].pin();
    const std::int64_t shift = size == 0 ? 0 : ((*shifts)[i] % size + size) % size;
    if (shift == 0) continue;
    CopiedParts cut;
    for (const auto& [from, to] : parts) {
      cut.emplace_back(part_of_dim(from, d, 0, size - shift), part_of_dim(to, d, shift, size - shift));
      cut.emplace_back(part_of_dim(from, d, size - shift, shift), part_of_dim(to, d, 0, shift));
    }
    parts = std::move(cut);
  }
  return emit_copies(lowering, parts);
}

// Argument 1 has two numbers for each padded dimension, from the last dimension on; negative numbers crop.
// The borders are copied from one element, which is read with strides of 0.
inline bool pad_with(Lowering& lowering, const TracedNode& node, const at::Scalar& value) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  const auto pads = fixed_integers(node, 1);
  if (!in || in->dtype != out.dtype || !pads) return false;
  Operand from = *in, inside = out;
  CopiedParts parts;
  std::optional<Operand> filling;
  const auto fill = [&](Operand to) {
    if (!filling) filling = lowering.literal({1}, at::full({1}, value, out.dtype));
    Operand repeated = *filling;
    repeated.sizes = to.sizes;
    repeated.strides = Dims(to.rank(), 0);
    parts.emplace_back(std::move(repeated), std::move(to));
  };
  for (std::size_t i = 0; i < pads->size() / 2; ++i) {
    const std::size_t d = out.rank() - 1 - i;
    const std::int64_t before = (*pads)[2 * i], after = (*pads)[2 * i + 1];
    if (before < 0) from = part_of_dim(from, d, -before, from.sizes[d] + before);
    if (after < 0) from = part_of_dim(from, d, 0, from.sizes[d] + after);
    if (before > 0) fill(part_of_dim(inside, d, 0, before));
    const Size end = before > 0 ? before + from.sizes[d] : from.sizes[d];
    if (after > 0) fill(part_of_dim(inside, d, end, after));
    inside = part_of_dim(inside, d, before > 0 ? before : 0, from.sizes[d]);
  }
  parts.emplace_back(std::move(from), std::move(inside));
  return emit_copies(lowering, parts);
}

// constant_pad_nd(x, pads, value)
inline bool constant_pad(Lowering& lowering, const TracedNode& node) {
  return node.inputs[2].isScalar() && pad_with(lowering, node, node.inputs[2].toScalar());
}

// pad(x, pads, mode, value)
inline bool pad(Lowering& lowering, const TracedNode& node) {
  if (node.inputs[2].toStringRef() != "constant") return false;
  const c10::IValue& value = node.inputs[3];
  return pad_with(lowering, node, value.isNone() ? at::Scalar(0) : value.toScalar());
}

// repeat_interleave(x, repeats, dim, ...) by a number: each index is copied to `repeats` adjacent ones.
inline bool repeat_interleave(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  Operand out = lowering.output(node);
  if (!in || in->dtype != out.dtype || !node.inputs[1].isInt() || node.dynamic_inputs[1] != kNone ||
      !node.inputs[2].isInt())
    return false;
  const std::int64_t repeats = node.inputs[1].toInt();
  const std::size_t d = from_front(node.inputs[2].toInt(), in->rank());
  const auto behind = static_cast<std::ptrdiff_t>(d) + 1;
  Operand from = *in;
  from.sizes.insert(from.sizes.begin() + behind, repeats);
  from.strides.insert(from.strides.begin() + behind, 0);
  const Size stride = out.strides[d];
  out.strides[d] = stride * repeats;
  out.strides.insert(out.strides.begin() + behind, stride);
  out.sizes = from.sizes;
  return emit_copies(lowering, {{std::move(from), std::move(out)}});
}

}  // namespace sr::replay::lower
