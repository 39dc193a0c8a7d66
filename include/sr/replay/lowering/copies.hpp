// Emits copies between tensors of one dtype with any strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/steps/copy_step.hpp>

namespace sr::replay {

namespace lower {

// The integers of argument `i`; nothing if they differ between calls.
inline std::optional<std::vector<std::int64_t>> fixed_integers(const TracedNode& node, std::size_t i) {
  if (node.dynamic_inputs[i] != kNone || !node.inputs[i].isIntList()) return std::nullopt;
  return node.inputs[i].toIntVector();
}

// Orders the dimensions as the target lies in memory, outermost first, and merges neighbours. Returns false
// if more are left than the kernels take.
inline bool shape_copy(const Operand& in, const Operand& out, CopyStep::Part& shape) {
  shape.width = c10::elementSize(in.dtype);
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < out.rank(); ++d) {
    if (out.sizes[d] != 1) order.push_back(d);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return out.strides[a] > out.strides[b]; });
  for (const std::size_t d : order) {
    const Size& size = out.sizes[d];
    const bool continues = !shape.sizes.empty() &&
                           Size::always_equal(shape.in_strides.back(), in.strides[d] * size) &&
                           Size::always_equal(shape.out_strides.back(), out.strides[d] * size);
    if (continues) {
      shape.sizes.back() *= size;
      shape.in_strides.back() = in.strides[d];
      shape.out_strides.back() = out.strides[d];
      continue;
    }
    if (shape.sizes.size() == kernels::StridedCopy::kMaxRank) return false;
    shape.sizes.push_back(size);
    shape.in_strides.push_back(in.strides[d]);
    shape.out_strides.push_back(out.strides[d]);
  }
  if (shape.sizes.empty()) shape.sizes = shape.in_strides = shape.out_strides = {1};
  return true;
}

// Emits one step that copies the first operand of each pair to the second, which has the same sizes.
// `is_last` promises that no later step can fail; otherwise the step logs what it overwrites of variables.
inline bool emit_copies(Lowering& lowering, const std::vector<std::pair<Operand, Operand>>& pairs,
                        bool is_last = false) {
  CopyStep step;
  step.copy = kernels::kernels().table.copy;
  std::vector<StorageId> reads, writes;
  for (const auto& [in, out] : pairs) {
    if (out.count() == 0) continue;
    CopyStep::Part part;
    if (!shape_copy(in, out, part)) return false;
    part.in = lowering.address(in);
    part.out = lowering.address(out);
    part.is_logged = !is_last && lowering.outlives_call(out.storage);
    step.parts.push_back(part);
    reads.push_back(in.storage);
    writes.push_back(out.storage);
  }
  if (!step.parts.empty()) lowering.emit(std::move(step), std::move(reads), std::move(writes));
  return true;
}

// For operators whose result holds the elements of the first argument in order.
inline bool copy(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  Operand out = lowering.output(node);
  if (!in || in->dtype != out.dtype) return false;
  if (!always_equal(in->sizes, out.sizes)) {
    if (in->count() != out.count()) return false;
    const auto strides = strides_of_view(out.sizes, out.strides, in->sizes);
    if (!strides) return false;
    out.sizes = in->sizes;
    out.strides = *strides;
  }
  return emit_copies(lowering, {{*in, out}});
}

// For copy_, into memory that its second argument does not lie in.
inline bool write_copy(Lowering& lowering, const TracedNode& node) {
  const auto to = lowering.input(node, 0), in = lowering.input(node, 1);
  if (!to || !in || in->dtype != to->dtype || in->storage == to->storage) return false;
  Operand from = *in;
  from.strides = broadcast_strides(*in, to->sizes);
  from.sizes = to->sizes;
  return emit_copies(lowering, {{from, *to}});
}

// For operators whose result has the elements of the second argument, broadcast to the sizes of the first.
inline bool copy_second(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 1);
  const Operand out = lowering.output(node);
  if (!in || in->dtype != out.dtype) return false;
  Operand from = *in;
  from.strides = broadcast_strides(*in, out.sizes);
  from.sizes = out.sizes;
  return emit_copies(lowering, {{from, out}});
}

}  // namespace lower

inline Operand Lowering::contiguous(Operand operand) {
  if (operand.is_contiguous()) return operand;
  Operand packed = temporary(operand.sizes, operand.dtype);
  if (!lower::emit_copies(*this, {{operand, packed}})) return operand;
  return packed;
}

inline bool Lowering::make_rows(Operand& operand) {
  const auto has_rows = [&] { return operand.stride(-1) == 1 || operand.size(-1) == 1; };
  if (!has_rows()) operand = contiguous(operand);
  return has_rows();
}

}  // namespace sr::replay
