// embedding and index_select: rows of a table, and slices along any dimension, of any dtype.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include <ATen/WrapDimUtils.h>

#include <sr/ops/indexing/lowering.hpp>
#include <sr/ops/indexing/steps.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>

namespace sr::replay {

// out[o][i] = in[o][indices[i]], in runs of bytes.
struct SelectStep final : ClonableStep<SelectStep> {
  std::string_view name() const override { return "index select"; }
  bool may_fail() const override { return true; }  // indices out of range
  Address in, indices, out;
  IndexedRows::Sizes sizes;
  IndexedRows rows;  // from `in`, the table, to `out`
  bool wide = true;  // 64-bit indices

  RunStep settle(SizeValues& values) override {
    rows.settle(sizes, values);
    return nullptr;
  }

  static void run(const Payload& payload, Context& context) {
    const auto& self = static_cast<const SelectStep&>(payload);
    const std::byte* const indices = self.indices.in(context.bases);
    if (self.wide) {
      self.select(reinterpret_cast<const std::int64_t*>(indices), context);
    } else {
      self.select(reinterpret_cast<const std::int32_t*>(indices), context);
    }
  }

 private:
  template <class Index>
  void select(const Index* at, Context& context) const {
    check_indices(at, wide, rows.count, rows.limit);
    const std::byte* from = in.in(context.bases);
    std::byte* to = out.in(context.bases);
    by_run_bytes(rows.run_bytes, [&](auto bytes) {
      for (std::size_t o = 0; o < rows.outer;
           ++o, from += rows.table_outer_bytes, to += rows.rows_outer_bytes)
        copy_runs(at, from, to, bytes);
    });
  }

  template <class Index, class Bytes>
  void copy_runs(const Index* at, const std::byte* from, std::byte* to, Bytes bytes) const {
    for (std::size_t i = 0; i < rows.count; ++i, to += rows.row_bytes)
      std::memcpy(to, from + static_cast<std::int64_t>(at[i]) * rows.table_bytes, bytes);
  }
};

namespace lower {

// Merges the dimensions before `dim` into one of equal distances, and those behind it into one run of bytes.
// Returns false if that is not possible.
inline bool select(Lowering& lowering, const Operand& in, std::int64_t dim, const Operand& indices,
                   const Operand& out) {
  if (in.dtype != out.dtype) return false;
  if (indices.dtype != c10::kLong && indices.dtype != c10::kInt) return false;
  if (out.count() == 0) return false;  // indices are checked all the same
  const Operand flat = lowering.contiguous(indices);
  const auto position = static_cast<std::size_t>(dim);
  const Operand tail = last_dims(in, position + 1);
  const auto outer = as_rows(first_dims(in, position), 0), out_outer = as_rows(first_dims(out, position), 0),
             results = as_rows(last_dims(out, position), tail.rank());
  if (!flat.is_contiguous() || !tail.is_contiguous()) return false;
  if (outer.first < 0 || out_outer.first < 0 || results.first < 0) return false;
  const auto width = static_cast<std::int64_t>(c10::elementSize(in.dtype));
  SelectStep step;
  step.in = lowering.address(in);
  step.indices = lowering.address(flat);
  step.out = lowering.address(out);
  step.sizes = {.outer = outer.first,
                .count = flat.count(),
                .run_bytes = tail.count() * width,
                .table_outer_bytes = outer.second * width,
                .table_bytes = in.strides[position] * width,
                .rows_outer_bytes = out_outer.second * width,
                .row_bytes = results.second * width,
                .limit = in.sizes[position]};
  step.wide = indices.dtype == c10::kLong;
  lowering.emit(std::move(step), {in.storage, flat.storage}, {out.storage});
  return true;
}

// Selects from operands of any layout. The dimensions of the indices replace `dim`.
inline bool select_any(Lowering& lowering, const Operand& in, std::int64_t dim, const Operand& indices,
                       const Operand& out) {
  if (select(lowering, in, dim, indices, out)) return true;
  const auto at = static_cast<std::size_t>(dim);
  IndexedRead lookup{in, in.strides, {{indices, at, Dims(at, 0)}}};
  lookup.strides.erase(lookup.strides.begin() + dim);
  lookup.strides.insert(lookup.strides.begin() + dim, out.rank() + 1 - in.rank(), 0);
  Dims& strides = lookup.indices[0].strides;
  strides.append(out.rank() + 1 - in.rank(), 0);
  std::copy(indices.strides.begin(), indices.strides.end(), strides.begin() + dim);
  strides.resize(out.rank(), 0);
  return emit_indexed_read(lowering, lookup, out);
}

// embedding(weight, indices, ...)
inline bool embedding(Lowering& lowering, const TracedNode& node) {
  const auto weight = lowering.input(node, 0), indices = lowering.input(node, 1);
  return weight && indices && weight->rank() == 2 &&
         select_any(lowering, *weight, 0, *indices, lowering.output(node));
}

// index_select(x, dim, index)
inline bool index_select(Lowering& lowering, const TracedNode& node) {
  const auto in = lowering.input(node, 0), indices = lowering.input(node, 2);
  if (!in || !indices || in->rank() == 0) return false;
  const std::int64_t dim = at::maybe_wrap_dim(node.inputs[1].toInt(), static_cast<std::int64_t>(in->rank()));
  return select_any(lowering, *in, dim, *indices, lowering.output(node));
}

}  // namespace lower
}  // namespace sr::replay
