// Copies between tensors of one dtype with any strides: clone, contiguous, cat, stack, and reshapes that need
// a copy.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay {

struct CopyStep final : Payload {
  std::string_view name() const override { return "copy"; }
  struct Part {
    kernels::StridedCopy shape;
    Address in, out;
  };
  c10::SmallVector<Part, 4> parts;
  void (*copy)(const kernels::StridedCopy& shape, const void* in, void* out) = nullptr;

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const CopyStep&>(payload);
    for (const Part& part : self.parts)
      self.copy(part.shape, part.in.in(context.bases), part.out.in(context.bases));
  }
};

namespace lower {

// Orders the dimensions as the target lies in memory, outermost first, and merges neighbours. Returns false
// if more are left than the kernels take.
inline bool shape_copy(const Operand& in, const Operand& out, kernels::StridedCopy& shape) {
  shape.width = c10::elementSize(in.dtype);
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < out.rank(); ++d) {
    if (out.sizes[d] != 1) order.push_back(d);
  }
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return out.strides[a] > out.strides[b]; });
  for (const std::size_t d : order) {
    const std::int64_t size = out.sizes[d];
    if (shape.rank != 0) {
      const std::size_t last = shape.rank - 1;
      if (shape.in_strides[last] == in.strides[d] * size &&
          shape.out_strides[last] == out.strides[d] * size) {
        shape.sizes[last] *= size;
        shape.in_strides[last] = in.strides[d];
        shape.out_strides[last] = out.strides[d];
        continue;
      }
    }
    if (shape.rank == kernels::StridedCopy::kMaxRank) return false;
    shape.sizes[shape.rank] = size;
    shape.in_strides[shape.rank] = in.strides[d];
    shape.out_strides[shape.rank] = out.strides[d];
    ++shape.rank;
  }
  if (shape.rank == 0) {
    shape.rank = 1;
    shape.sizes[0] = 1;
    shape.in_strides[0] = shape.out_strides[0] = 1;
  }
  return true;
}

// Emits one step that copies each pair. The two sizes of a pair are equal.
inline bool emit_copies(Lowering& lowering, const std::vector<std::pair<Operand, Operand>>& pairs) {
  CopyStep step;
  step.copy = kernels::kernels().table.copy;
  std::vector<StorageId> reads, writes;
  for (const auto& [in, out] : pairs) {
    if (out.count() == 0) continue;
    CopyStep::Part part;
    if (!shape_copy(in, out, part.shape)) return false;
    part.in = lowering.address(in);
    part.out = lowering.address(out);
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
  if (in->sizes != out.sizes) {
    if (!out.is_contiguous() || in->count() != out.count()) return false;
    out.sizes = in->sizes;
    out.strides = dense_strides(in->sizes);
  }
  return emit_copies(lowering, {{*in, out}});
}

// Values that were placed in the result need no copy.
template <bool kStacks>
bool join(Lowering& lowering, const TracedNode& node) {
  const Operand out = lowering.output(node);
  std::vector<std::pair<Operand, Operand>> pairs;
  for (const JoinedPart& part : parts_of(node, kStacks, out.strides)) {
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
