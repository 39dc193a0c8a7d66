// Finds values that can be written directly into the result of a later `cat` or `stack`, so that it need not
// copy them.
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/WrapDimUtils.h>

#include <sr/base/identity.hpp>
#include <sr/kernels/table.hpp>
#include <sr/replay/lowering/image_layouts.hpp>
#include <sr/replay/trace/operand.hpp>
#include <sr/replay/trace/trace.hpp>

namespace sr::replay {

// One tensor that `cat` or `stack` joins, and its part of the result.
struct JoinedPart {
  at::Tensor tensor;
  Size offset;   // elements from the joined tensor's first
  Dims strides;  // of its elements there
};

// The parts of a node with the inputs (tensors, dim), or with the tensors one by one and then dim. `strides`
// are those of the joined tensor.
inline std::vector<JoinedPart> parts_of(const Trace& trace, const TracedNode& node, bool stacks,
                                        const Dims& strides) {
  const auto rank = static_cast<std::int64_t>(strides.size());
  const std::int64_t dim = at::maybe_wrap_dim(node.inputs.back().toInt(), rank);
  std::vector<JoinedPart> parts;
  Size at = 0;
  const auto add = [&](const at::Tensor& tensor) {
    const Dims& sizes = trace.layout_of(tensor).sizes;
    if (!stacks && rank != 1 && sizes.size() == 1 && sizes[0] == 0) return;  // the one other shape cat takes
    Dims there = strides;
    if (stacks) there.erase(there.begin() + dim);
    parts.push_back({tensor, at * strides[static_cast<std::size_t>(dim)], std::move(there)});
    at += stacks ? Size(1) : sizes[static_cast<std::size_t>(dim)];
  };
  if (node.inputs[0].isList()) {
    for (const c10::IValue& element : node.inputs[0].toListRef()) add(element.toTensor());
  } else {
    for (std::size_t i = 0; i + 1 < node.inputs.size(); ++i) add(node.inputs[i].toTensor());
  }
  return parts;
}

// By storage of the value: the part of the joined tensor that will hold it, in the shape in which its node
// makes it.
using Placements = std::unordered_map<StorageId, Operand>;

// By storage: the number of nodes and results that read it.
inline std::vector<std::uint32_t> readers_of(const Trace& trace) {
  std::vector<std::uint32_t> readers(trace.storages.size(), 0);
  const auto count = [&](const c10::IValue& value) {
    sr::detail::each_tensor(value, [&](const at::Tensor& tensor) { ++readers[trace.storage_id_of(tensor)]; });
  };
  for (const TracedNode& node : trace.nodes) {
    for (const c10::IValue& input : node.inputs) count(input);
    for (const c10::IValue& input : node.captured) count(input);
  }
  for (const c10::IValue& result : trace.results) count(result);
  for (const Commit& commit : trace.commits) count(commit.from);
  return readers;
}

class PlacementSearch {
 public:
  // `storages` are those of the program, with their layouts, and `readers` is the result of readers_of. Both
  // must outlive the search.
  PlacementSearch(const Trace& trace, const std::vector<TracedStorage>& storages,
                  const std::vector<std::uint32_t>& readers)
      : trace_(trace), storages_(storages), readers_(readers) {}

  Placements find() {
    Placements placements;
    // Later joins first: a value that they place may itself be joined of others.
    for (std::size_t i = trace_.nodes.size(); i-- > 0;) {
      const TracedNode& node = trace_.nodes[i];
      const c10::Symbol kind = node.processed->node->kind();
      const bool stacks = kind == c10::aten::stack || kind == c10::Symbol::fromQualString("prim::VarStack");
      const bool joins = kind == c10::aten::cat || kind == c10::Symbol::fromQualString("prim::VarConcat");
      if (node.role == Role::compute && (stacks || joins)) place_parts(node, stacks, placements);
    }
    return placements;
  }

 private:
  void place_parts(const TracedNode& node, bool stacks, Placements& placements) const {
    const at::Tensor& joined = node.outputs[0].toTensor();
    const StorageId target = trace_.storage_id_of(joined);
    if (placements.count(target) != 0) return;  // one level is enough: it would be a part of a part
    const TensorLayout& layout = trace_.layout_of(joined);
    const Dims strides =
        storages_[target].channels_last ? strides_with_channels_last(layout.sizes) : layout.strides;
    const std::vector<JoinedPart> parts = parts_of(trace_, node, stacks, strides);
    // A result that no kernel of sr joins gets no placements.
    const bool ours = joined.dim() <= static_cast<std::int64_t>(kernels::StridedCopy::kMaxRank) &&
                      std::all_of(parts.begin(), parts.end(), [&](const JoinedPart& part) {
                        return part.tensor.scalar_type() == joined.scalar_type();
                      });
    if (!ours) return;
    for (const JoinedPart& part : parts) {
      const auto sizes = made_as(part.tensor);
      if (!sizes) continue;
      const auto placed = strides_of_view(trace_.layout_of(part.tensor).sizes, part.strides, *sizes);
      if (!placed) continue;
      placements[trace_.storage_id_of(part.tensor)] = {target, layout.offset + part.offset, *sizes, *placed,
                                                       part.tensor.scalar_type()};
    }
  }

  // The sizes that the value's node gave it, if the part is the whole result of one node and nothing else
  // reads it.
  std::optional<Dims> made_as(const at::Tensor& part) const {
    const StorageId storage = trace_.storage_id_of(part);
    const TracedStorage& traced = trace_.storages[storage];
    if (traced.home != Home::produced || traced.producer == kNone || readers_[storage] != 1)
      return std::nullopt;
    const TensorLayout& layout = trace_.layout_of(part);
    const Size count = product_of(layout.sizes);
    if (count == 0 || layout.offset != 0 || !is_dense(layout) || traced.bytes != count * part.element_size())
      return std::nullopt;
    const TracedNode& maker = trace_.nodes[traced.producer];
    if (maker.outputs.size() != 1 || !maker.outputs[0].isTensor()) return std::nullopt;
    const at::Tensor& made = maker.outputs[0].toTensor();
    const TensorLayout& as_made = trace_.layout_of(made);
    if (!is_dense(as_made) || product_of(as_made.sizes) != count || as_made.offset != 0) return std::nullopt;
    return as_made.sizes;
  }

  const Trace& trace_;
  const std::vector<TracedStorage>& storages_;
  const std::vector<std::uint32_t>& readers_;
};

}  // namespace sr::replay
