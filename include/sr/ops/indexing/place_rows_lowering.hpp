// Lowers index_copy_, and index_put_ with one index, to a step that overwrites rows of a tensor in place, for
// example rows of a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <ATen/WrapDimUtils.h>

#include <sr/ops/indexing/steps.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

// to[o][indices[i]] = from[o][i], in runs of bytes.
struct PlaceRowsStep final : ClonableStep<PlaceRowsStep> {
  std::string_view name() const override { return "place rows"; }
  bool may_fail() const override { return true; }  // indices out of range, before anything is written
  bool logs_writes() const override { return true; }
  Address to, indices, from;
  IndexedRows::Sizes sizes;
  IndexedRows rows;        // from `from` to `to`, the table
  bool is_logged = false;  // `to` outlives the call

  RunStep settle(SizeValues& values) override {
    rows.settle(sizes, values);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const PlaceRowsStep&>(payload);
    const IndexedRows& rows = self.rows;
    const auto* const at = self.indices.in<const std::int64_t>(context.bases);
    check_indices(at, /*wide=*/true, rows.count, rows.limit);
    std::byte* to = self.to.in(context.bases);
    const std::byte* from = self.from.in(context.bases);
    for (std::size_t o = 0; o < rows.outer;
         ++o, to += rows.table_outer_bytes, from += rows.rows_outer_bytes) {
      for (std::size_t i = 0; i < rows.count; ++i) {
        std::byte* const row = to + at[i] * rows.table_bytes;
        if (self.is_logged) context.services->undo.keep(row, rows.run_bytes);
        std::memcpy(row, from + static_cast<std::int64_t>(i) * rows.row_bytes, rows.run_bytes);
      }
    }
  }
};

namespace lower {

// Emits the step. `from` has the sizes of `to` except for dimension `dim`, which has the number of indices.
// `indices` are 64-bit integers and have at most one dimension. Returns false if no kernel takes the layouts.
inline bool place_rows(Lowering& lowering, const Operand& to, std::size_t dim, const Operand& indices,
                       Operand from) {
  const bool is_apart = from.storage != to.storage && indices.storage != to.storage;
  if (from.dtype != to.dtype || indices.dtype != c10::kLong || indices.rank() > 1 || !is_apart) return false;
  const auto has_runs = [&](const Operand& operand) {
    return last_dims(operand, dim + 1).is_contiguous() && as_rows(first_dims(operand, dim), 0).first >= 0;
  };
  if (!has_runs(to)) return false;
  if (!has_runs(from)) from = lowering.contiguous(std::move(from));
  const Operand flat = lowering.contiguous(indices);
  if (!has_runs(from) || !flat.is_contiguous()) return false;
  const auto width = static_cast<std::int64_t>(c10::elementSize(to.dtype));
  const auto outer = as_rows(first_dims(to, dim), 0), from_outer = as_rows(first_dims(from, dim), 0);
  PlaceRowsStep step;
  step.to = lowering.address(to);
  step.indices = lowering.address(flat);
  step.from = lowering.address(from);
  step.sizes = {.outer = outer.first,
                .count = flat.count(),
                .run_bytes = last_dims(to, dim + 1).count() * width,
                .table_outer_bytes = outer.second * width,
                .table_bytes = to.strides[dim] * width,
                .rows_outer_bytes = from_outer.second * width,
                .row_bytes = from.strides[dim] * width,
                .limit = to.sizes[dim]};
  step.is_logged = lowering.outlives_call(to.storage);
  lowering.emit(std::move(step), {from.storage, flat.storage}, {to.storage});
  return true;
}

// index_copy_(self, dim, index, source)
inline bool index_copy_in_place(Lowering& lowering, const TracedNode& node) {
  const auto to = lowering.input(node, 0), indices = lowering.input(node, 2), from = lowering.input(node, 3);
  if (!to || !indices || !from || to->rank() == 0 || from->rank() != to->rank()) return false;
  const std::int64_t dim = at::maybe_wrap_dim(node.inputs[1].toInt(), static_cast<std::int64_t>(to->rank()));
  return place_rows(lowering, *to, static_cast<std::size_t>(dim), *indices, *from);
}

// index_put_(self, indices, values, accumulate), with one index tensor.
inline bool index_put_in_place(Lowering& lowering, const TracedNode& node) {
  const auto to = lowering.input(node, 0), values = lowering.input(node, 2);
  if (!to || !values || !node.inputs[1].isList() || !node.inputs[3].isBool() || node.inputs[3].toBool())
    return false;
  std::optional<std::size_t> dim;
  std::size_t next = 0;
  at::Tensor index;
  for (const c10::IValue& each : node.inputs[1].toListRef()) {
    const bool is_index = each.isTensor() && each.toTensor().defined();
    if (is_index && dim) return false;
    if (is_index) {
      dim = next;
      index = each.toTensor();
    }
    ++next;
  }
  if (!dim || *dim >= to->rank()) return false;
  const Operand indices = lowering.operand(index);
  if (indices.rank() > 1) return false;
  // The values broadcast to the selected rows. A 0-dim index selects one row and removes the dimension.
  Dims chosen = to->sizes;
  chosen[*dim] = indices.count();
  Operand from = *values;
  if (indices.rank() == 0) {
    Dims without = to->sizes;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(*dim));
    if (values->rank() > without.size()) return false;
    from.strides = broadcast_strides(*values, without);
    from.strides.insert(from.strides.begin() + static_cast<std::ptrdiff_t>(*dim), Size(0));
  } else {
    if (values->rank() > chosen.size()) return false;
    from.strides = broadcast_strides(*values, chosen);
  }
  from.sizes = std::move(chosen);
  return place_rows(lowering, *to, *dim, indices, std::move(from));
}

}  // namespace lower

}  // namespace sr::replay
