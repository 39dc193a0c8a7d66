// gather, take_along_dim and x[i, j] by index tensors, in any layout and of any dtype, and masked_fill.
#pragma once

#include <utility>
#include <vector>

#include <ATen/WrapDimUtils.h>

#include <sr/ops/indexing/steps.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay {

namespace lower {

// Strides are given for the dimensions of the result: those of the tensor without its indexed dimensions, and
// those of each index.
struct IndexedRead {
  struct Index {
    Operand operand;
    std::size_t dim = 0;  // that it chooses from
    Dims strides;
  };
  Operand in;
  Dims strides;
  c10::SmallVector<Index, 2> indices;
  bool wraps = false;
};

inline IndexStep::DimensionOf dimension_of(const IndexedRead& lookup, const Operand& out, std::size_t d) {
  const auto width = static_cast<std::int64_t>(c10::elementSize(out.dtype));
  IndexStep::DimensionOf made{out.sizes[d], lookup.strides[d] * width, out.strides[d] * width, {}};
  for (std::size_t k = 0; k < lookup.indices.size(); ++k) {
    const IndexedRead::Index& index = lookup.indices[k];
    made.indices[k] = index.strides[d] * static_cast<std::int64_t>(c10::elementSize(index.operand.dtype));
  }
  return made;
}

// Merges dimensions that are evenly spaced in all tensors, in every call. The last becomes a run of bytes if
// no index moves along it.
inline void shape_indexed_read(const IndexedRead& lookup, const Operand& out, IndexStep& step) {
  using Dimension = IndexStep::DimensionOf;
  const auto equal = [](const Size& a, const Size& b) { return Size::always_equal(a, b); };
  const auto follows = [&](const Dimension& outer, const Dimension& inner) {
    bool even = equal(outer.in, inner.size * inner.in) && equal(outer.out, inner.size * inner.out);
    for (std::size_t k = 0; k < IndexStep::kMostIndices; ++k)
      even = even && equal(outer.indices[k], inner.size * inner.indices[k]);
    return even;
  };
  for (std::size_t d = 0; d < out.rank(); ++d) {
    if (equal(out.sizes[d], 1)) continue;
    Dimension next = dimension_of(lookup, out, d);
    if (!step.dimensions_of.empty() && follows(step.dimensions_of.back(), next)) {
      next.size = next.size * step.dimensions_of.back().size;
      step.dimensions_of.pop_back();
    }
    step.dimensions_of.push_back(next);
  }
  const auto width = static_cast<std::int64_t>(c10::elementSize(out.dtype));
  step.run_bytes_of = width;
  if (!step.dimensions_of.empty()) {
    const Dimension& last = step.dimensions_of.back();
    const bool moves =
        std::ranges::any_of(last.indices, [&](const Size& stride) { return !equal(stride, 0); });
    if (equal(last.in, width) && equal(last.out, width) && !moves) {
      step.run_bytes_of = last.size * width;
      step.dimensions_of.pop_back();
    }
  }
  if (step.dimensions_of.empty()) step.dimensions_of.push_back({});
}

inline bool emit_indexed_read(Lowering& lowering, const IndexedRead& lookup, const Operand& out) {
  if (lookup.in.dtype != out.dtype || out.count() == 0) return false;  // indices of nothing are checked too
  if (lookup.indices.empty() || lookup.indices.size() > IndexStep::kMostIndices) return false;
  IndexStep step;
  std::vector<StorageId> reads{lookup.in.storage};
  const c10::ScalarType integers = lookup.indices[0].operand.dtype;
  if (integers != c10::kLong && integers != c10::kInt) return false;
  for (const IndexedRead::Index& index : lookup.indices) {
    if (index.operand.dtype != integers) return false;
    step.indices.push_back(
        {.at = lowering.address(index.operand),
         .of = {lookup.in.sizes[index.dim],
                lookup.in.strides[index.dim] * static_cast<std::int64_t>(c10::elementSize(out.dtype))}});
    reads.push_back(index.operand.storage);
  }
  step.in = lowering.address(lookup.in);
  step.out = lowering.address(out);
  step.wide = integers == c10::kLong;
  step.wraps = lookup.wraps;
  shape_indexed_read(lookup, out, step);
  lowering.emit(std::move(step), std::move(reads), {out.storage});
  return true;
}

// Tensor and index have the rank of the result. In dimensions other than `dim`, those of size 1 repeat.
inline bool index_along(Lowering& lowering, const Operand& in, const Operand& index, std::int64_t dim,
                        const Operand& out) {
  if (in.rank() == 0 || in.rank() != out.rank() || index.rank() != out.rank()) return false;
  IndexedRead lookup{in, broadcast_strides(in, out.sizes), {}};
  const auto along = static_cast<std::size_t>(at::maybe_wrap_dim(dim, static_cast<std::int64_t>(in.rank())));
  lookup.strides[along] = 0;
  lookup.indices.push_back({index, along, broadcast_strides(index, out.sizes)});
  return emit_indexed_read(lowering, lookup, out);
}

// gather(x, dim, index, sparse_grad)
inline bool gather(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0), index = lowering.input(node, 2);
  return in && index && index_along(lowering, *in, *index, node.inputs[1].toInt(), lowering.output(node));
}

// take_along_dim(x, indices, dim). Without a dim both are flattened.
inline bool take_along_dim(Lowering& lowering, const TracedNode& node) {
  auto in = lowering.input(node, 0), index = lowering.input(node, 1);
  if (!in || !index) return false;
  if (!node.inputs[2].isNone())
    return index_along(lowering, *in, *index, node.inputs[2].toInt(), lowering.output(node));
  for (Operand* operand : {&*in, &*index}) {
    if (!operand->is_contiguous()) return false;
    operand->sizes = {operand->count()};
    operand->strides = {1};
  }
  return index_along(lowering, *in, *index, 0, lowering.output(node));
}

// index(x, indices): integer tensors for some dimensions. The dimensions of the indices replace the indexed
// ones, or come first if the indexed ones are not adjacent.
inline bool advanced_index(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in) return false;
  IndexedRead lookup{*in, {}, {}, /*wraps=*/true};
  std::size_t d = 0;
  for (const c10::IValue& value : node.inputs[1].toListRef()) {
    if (value.isTensor() && value.toTensor().defined())
      lookup.indices.push_back({lowering.operand(value.toTensor()), d, {}});
    ++d;
  }
  if (lookup.indices.empty()) return false;
  const std::size_t first = lookup.indices.front().dim, count = lookup.indices.size();
  const bool together = lookup.indices.back().dim - first + 1 == count;
  const std::size_t before = together ? first : 0, rest = in->rank() - count;
  const Dims shape(out.sizes.begin() + before, out.sizes.end() - (rest - before));
  std::vector<bool> indexed(in->rank(), false);
  for (IndexedRead::Index& one : lookup.indices) {
    indexed[one.dim] = true;
    one.strides.resize(before, 0);
    one.strides.append(broadcast_strides(one.operand, shape));
    one.strides.resize(out.rank(), 0);
  }
  for (std::size_t i = 0; i < in->rank(); ++i) {
    if (!indexed[i]) lookup.strides.push_back(in->strides[i]);
  }
  lookup.strides.insert(lookup.strides.begin() + static_cast<std::ptrdiff_t>(before), shape.size(), 0);
  return emit_indexed_read(lowering, lookup, out);
}

// masked_fill(x, mask, value)
inline bool masked_fill(Lowering& lowering, const TracedNode& node) {
  const auto mask = lowering.input(node, 1);
  const Operand out = lowering.output(node);
  const auto type = computed_type(out.dtype);
  Inputs inputs;
  if (!mask || mask->dtype != c10::kBool || type != out.dtype || !add_input(lowering, node, 0, *type, inputs))
    return false;
  inputs.emplace_back(*mask);
  return add_input(lowering, node, 2, *type, inputs) &&
         emit_in<vector_ops::MaskedFill>(lowering, *type, inputs, out);
}

}  // namespace lower
}  // namespace sr::replay
