// Which values may be written straight into the tensor that a later `cat` or `stack` makes of them, so that
// nothing is left to copy.
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/TensorUtils.h>
#include <ATen/WrapDimUtils.h>

#include <sr/kernels/table.hpp>
#include <sr/plan/operand.hpp>
#include <sr/plan/trace.hpp>

namespace sr::plan {

// By storage of the value: the part of the joined tensor that is to hold it, shaped as the value's maker
// shapes it.
using Placements = std::unordered_map<StorageId, Operand>;

class PlacementSearch {
 public:
  explicit PlacementSearch(const Trace& trace) : trace_(trace), readers_(trace.storages.size(), 0) {
    for (const TracedNode& node : trace.nodes) {
      for (const c10::IValue& input : node.inputs) count(input);
      for (const c10::IValue& input : node.captured) count(input);
    }
    for (const c10::IValue& result : trace.results) count(result);
  }

  Placements find() {
    Placements placements;
    // Later joins first: what they place may itself be joined of others.
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
  void count(const c10::IValue& value) {
    if (value.isTensor()) {
      if (value.toTensor().defined()) ++readers_[trace_.tensors[trace_.id_of(value.toTensor())].storage];
    } else if (value.isTuple()) {
      for (const c10::IValue& element : value.toTupleRef().elements()) count(element);
    } else if (value.isList() && !value.isIntList() && !value.isDoubleList() && !value.isBoolList()) {
      for (const c10::IValue& element : value.toListRef()) count(element);
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) {
        count(entry.key());
        count(entry.value());
      }
    }
  }

  void place_parts(const TracedNode& node, bool stacks, Placements& placements) const {
    const at::Tensor& joined = node.outputs[0].toTensor();
    const StorageId target = trace_.tensors[trace_.id_of(joined)].storage;
    if (placements.count(target) != 0) return;  // one level is enough: it would be a part of a part
    std::vector<at::Tensor> parts;
    if (node.inputs[0].isList()) {
      for (const c10::IValue& element : node.inputs[0].toListRef()) parts.push_back(element.toTensor());
    } else {
      for (std::size_t i = 0; i + 1 < node.inputs.size(); ++i) parts.push_back(node.inputs[i].toTensor());
    }
    // Nothing is placed in what no kernel of ours joins.
    const bool ours = joined.dim() <= static_cast<std::int64_t>(kernels::StridedCopy::kMaxRank) &&
                      std::all_of(parts.begin(), parts.end(), [&](const at::Tensor& part) {
                        return part.scalar_type() == joined.scalar_type();
                      });
    if (!ours) return;
    const std::int64_t dim = at::maybe_wrap_dim(node.inputs.back().toInt(), joined.dim());
    std::int64_t at = 0;
    for (const at::Tensor& part : parts) {
      const bool skipped = !stacks && part.dim() == 1 && part.numel() == 0 && joined.dim() != 1;
      if (skipped) continue;
      Dims strides(joined.strides().begin(), joined.strides().end());
      const std::int64_t offset = joined.storage_offset() + at * joined.stride(dim);
      if (stacks) strides.erase(strides.begin() + dim);
      at += stacks ? 1 : part.size(dim);
      if (const auto sizes = made_as(part)) {
        if (const auto placed = at::detail::computeStride(part.sizes(), strides, *sizes)) {
          placements[trace_.tensors[trace_.id_of(part)].storage] = {
              target, offset, *sizes, Dims(placed->begin(), placed->end()), part.scalar_type()};
        }
      }
    }
  }

  // The sizes its maker gave it, when the part is all of what one node made and nobody else reads it.
  std::optional<Dims> made_as(const at::Tensor& part) const {
    const StorageId storage = trace_.tensors[trace_.id_of(part)].storage;
    const TracedStorage& traced = trace_.storages[storage];
    if (traced.home != Home::produced || readers_[storage] != 1 || part.numel() == 0 ||
        !part.is_contiguous() || part.storage_offset() != 0 || traced.bytes != part.nbytes()) {
      return std::nullopt;
    }
    const TracedNode& maker = trace_.nodes[traced.producer];
    if (maker.outputs.size() != 1 || !maker.outputs[0].isTensor()) return std::nullopt;
    const at::Tensor& made = maker.outputs[0].toTensor();
    if (!made.is_contiguous() || made.numel() != part.numel() || made.storage_offset() != 0)
      return std::nullopt;
    return Dims(made.sizes().begin(), made.sizes().end());
  }

  const Trace& trace_;
  std::vector<std::uint32_t> readers_;  // by storage: how often a node or a result reads it
};

}  // namespace sr::plan
