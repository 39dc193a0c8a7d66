// Sums, means, extrema, norms, argmax and argmin of fp32 tensors over any dimensions.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/WrapDimUtils.h>

#include <sr/ops/reduction/steps.hpp>
#include <sr/replay/lowering/copies.hpp>
#include <sr/replay/lowering/lowering.hpp>
#include <sr/replay/lowering/pointwise.hpp>

namespace sr::replay {

namespace lower {

// How a tensor is reduced: the kernel of the first pass, and what the last pass does to the results.
struct ReduceHow {
  kernels::Reduce kind = kernels::Reduce::sum;
  Size divisor = 1;
  bool root = false;

  // How the results of a pass are reduced further.
  ReduceHow then() const {
    const bool is_extreme = kind == kernels::Reduce::max || kind == kernels::Reduce::min;
    return {is_extreme ? kind : kernels::Reduce::sum, divisor, root};
  }
};

// A tensor to reduce, with its dimensions in memory order, outermost first, and neighbours merged.
class ReducedTensor {
 public:
  // `out` has the reduced dimensions with size 1, or lacks them.
  ReducedTensor(const Operand& in, const std::vector<bool>& reduced, const Operand& out)
      : in_(in), out_(out) {
    const bool kept = out.rank() == in.rank();
    std::vector<std::size_t> order;
    Dims out_strides(in.rank(), 0);
    for (std::size_t d = 0, to = 0; d < in.rank(); ++d) {
      if (!reduced[d]) out_strides[d] = out.strides[kept ? d : to];
      to += reduced[d] ? 0 : 1;
      if (in.sizes[d] != 1) order.push_back(d);
    }
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return in.strides[a] > in.strides[b]; });
    for (const std::size_t d : order) add({in.sizes[d], in.strides[d], out_strides[d], reduced[d]});
  }

  // Emits a pass over the innermost reduced dimension, and further passes over its results. Returns false if
  // the kernels cannot take the layout.
  bool emit(Lowering& lowering, const ReduceHow& how) const {
    const auto last = std::ranges::find(axes_.rbegin(), axes_.rend(), true, &Axis::reduced);
    if (last == axes_.rend()) return false;
    const auto at = static_cast<std::size_t>(axes_.rend() - last) - 1;
    OuterReductionStep step;
    if (!shape(at, step.sizes)) return false;
    step.reduce = kernels::kernels().table.reduce[static_cast<std::size_t>(how.kind)];
    step.in = lowering.address(in_);
    const auto is_reduced = [](const Axis& axis) { return axis.reduced; };
    if (std::none_of(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(at), is_reduced)) {
      if (at > 1) return false;
      if (at + 1 < axes_.size() && axes_.back().out != 1) return false;
      if (at != 0) step.sizes.out_outer = axes_[0].out;
      step.sizes.divisor = how.divisor;
      step.shape.root = how.root;
      step.out = lowering.address(out_);
      lowering.emit(std::move(step), {in_.storage}, {out_.storage});
      return true;
    }
    return emit_passes(lowering, how, at, std::move(step));
  }

 private:
  struct Axis {
    Size size, in, out;
    bool reduced;
  };

  void add(const Axis& axis) {
    if (!axes_.empty()) {
      Axis& outer = axes_.back();
      const bool merges = outer.reduced == axis.reduced &&
                          Size::always_equal(outer.in, axis.in * axis.size) &&
                          (axis.reduced || Size::always_equal(outer.out, axis.out * axis.size));
      if (merges) {
        outer = {outer.size * axis.size, axis.in, axis.out, axis.reduced};
        return;
      }
    }
    axes_.push_back(axis);
  }

  // Describes the pass over axis `at`. The axes outside of it must merge into one, and those inside must be
  // contiguous.
  bool shape(std::size_t at, ReductionSizes& columns) const {
    if (at + 2 < axes_.size() || axes_.back().in != 1) return false;
    if (at + 1 < axes_.size()) columns.inner = axes_.back().size;
    columns.count = axes_[at].size;
    columns.in_row = axes_[at].in;
    if (axes_[at].in == 0) return false;
    if (at != 0) columns.in_outer = axes_[at - 1].in;
    for (std::size_t i = 0; i < at; ++i) {
      columns.outer *= axes_[i].size;
      if (i + 1 < at && axes_[i].in != axes_[i + 1].in * axes_[i + 1].size) return false;
    }
    return true;
  }

  bool emit_passes(Lowering& lowering, const ReduceHow& how, std::size_t at, OuterReductionStep step) const {
    Dims sizes;
    std::vector<bool> reduced;
    Operand rest = out_;  // as the dimensions that are left lie in it
    rest.sizes.clear();
    rest.strides.clear();
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (i == at) continue;
      sizes.push_back(axes_[i].size);
      reduced.push_back(axes_[i].reduced);
      if (axes_[i].reduced) continue;
      rest.sizes.push_back(axes_[i].size);
      rest.strides.push_back(axes_[i].out);
    }
    const Operand made = lowering.temporary(sizes);
    step.sizes.out_outer = step.sizes.inner;
    step.out = lowering.address(made);
    const ReducedTensor next(made, reduced, rest);
    lowering.emit(std::move(step), {in_.storage}, {made.storage});
    return next.emit(lowering, how.then());
  }

  Operand in_, out_;
  std::vector<Axis> axes_;
};

// An empty or missing list of dimensions means all.
inline std::vector<bool> reduced_dims(const c10::IValue& dims, std::size_t rank) {
  std::vector<bool> reduced(rank, true);
  if (dims.isNone() || (dims.isIntList() && dims.toIntVector().empty())) return reduced;
  reduced.assign(rank, false);
  const auto mark = [&](std::int64_t d) {
    reduced[static_cast<std::size_t>(at::maybe_wrap_dim(d, static_cast<std::int64_t>(rank)))] = true;
  };
  if (dims.isInt()) {
    mark(dims.toInt());
  } else {
    for (const std::int64_t d : dims.toIntVector()) mark(d);
  }
  return reduced;
}

// Reduces the last dimensions in the fused step that makes the operand.
inline bool reduce_behind_group(Lowering& lowering, const Operand& in, const std::vector<bool>& reduced,
                                const Operand& out, const ReduceHow& how) {
  std::size_t row_rank = 0;
  while (row_rank < reduced.size() && reduced[reduced.size() - 1 - row_rank]) ++row_rank;
  if (row_rank == 0 || static_cast<std::size_t>(std::ranges::count(reduced, true)) != row_rank) return false;
  auto kernel = std::make_unique<InnerReductionOfTile>();
  kernel->divisor = how.divisor;
  kernel->shape.root = how.root;
  kernel->reduce = kernels::kernels().table.reduce[static_cast<std::size_t>(how.kind)];
  return lowering.behind_group(
      {.kernel = std::move(kernel), .in = in, .out = out, .row_rank = row_rank, .out_columns = 1}, {});
}

inline bool reduce_operand(Lowering& lowering, const Operand& in, const std::vector<bool>& reduced,
                           const Operand& out, const ReduceHow& how) {
  if (lowering.exact()) return false;  // of extrema, too: which of two zeros it is
  if (!in.is_float() || !out.is_float() || in.rank() == 0 || in.count() == 0 || out.count() == 0)
    return false;
  if (reduce_behind_group(lowering, in, reduced, out, how)) return true;
  if (ReducedTensor(in, reduced, out).emit(lowering, how)) return true;
  if (in.is_contiguous()) return false;
  return ReducedTensor(lowering.contiguous(in), reduced, out).emit(lowering, how);
}

inline bool reduce_float(Lowering& lowering, const TracedNode& node, const c10::IValue& dims, ReduceHow how,
                         bool is_mean = false) {
  const auto in = lowering.input(node, 0);
  const Operand out = lowering.output(node);
  if (!in || in->rank() == 0 || out.count() == 0) return false;
  if (is_mean) how.divisor = in->count() / out.count();
  return reduce_operand(lowering, *in, reduced_dims(dims, in->rank()), out, how);
}

// For (self, dims, ...) and (self, ...). A dtype argument that differs from the input's is left to LibTorch.
template <kernels::Reduce kKind, bool kMean = false>
bool reduce_float_dims(Lowering& lowering, const TracedNode& node) {
  return reduce_float(lowering, node, node.inputs[1], {.kind = kKind}, kMean);
}
template <kernels::Reduce kKind, bool kMean = false>
bool reduce_float_all(Lowering& lowering, const TracedNode& node) {
  return reduce_float(lowering, node, {}, {.kind = kKind}, kMean);
}

// Norms of order 1 or 2; the default is 2.
inline bool norm_of(Lowering& lowering, const TracedNode& node, const c10::IValue& dims) {
  const auto order = node.inputs[1].isNone() ? 2.0F : number(node.inputs[1]);
  if (order == 2.0F) {
    return reduce_float(lowering, node, dims, {.kind = kernels::Reduce::squares, .root = true});
  }
  return order == 1.0F && reduce_float(lowering, node, dims, {.kind = kernels::Reduce::magnitudes});
}
inline bool norm_dims(Lowering& lowering, const TracedNode& node) {
  return norm_of(lowering, node, node.inputs[2]);
}
inline bool norm_all(Lowering& lowering, const TracedNode& node) {
  return norm_of(lowering, node, {});
}

// The shape in which dimension `d` of a contiguous operand counts the rows.
inline ReductionSizes columns_of(const Operand& in, std::size_t d) {
  ReductionSizes columns;
  const c10::ArrayRef<Size> sizes = in.sizes;
  columns.outer = product_of(sizes.slice(0, d));
  columns.inner = product_of(sizes.slice(d + 1));
  columns.count = sizes[d];
  columns.in_row = columns.out_row = columns.inner;
  columns.in_outer = columns.out_outer = columns.count * columns.inner;
  return columns;
}

// Extrema of dimension `dim`, or of all dimensions if there is none. `values` is the position of the output
// for the elements.
inline bool emit_extreme(Lowering& lowering, const TracedNode& node, const c10::IValue& dim, bool smallest,
                         std::optional<Operand> values, const Operand& indices) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 24;  // row numbers are kept as floats
  auto in = lowering.input(node, 0);
  if (!in || !in->is_float() || in->count() == 0 || in->count() > kMostRows || in->rank() == 0) return false;
  if (!indices.is_contiguous() || (values && (!values->is_contiguous() || !values->is_float()))) return false;
  const Operand dense = lowering.contiguous(*in);
  if (!dense.is_contiguous()) return false;
  ExtremeStep step;
  step.sizes.count = dense.count();
  step.sizes.in_row = 1;
  if (!dim.isNone()) {
    const auto rank = static_cast<std::int64_t>(in->rank());
    step.sizes = columns_of(dense, static_cast<std::size_t>(at::maybe_wrap_dim(dim.toInt(), rank)));
  }
  step.sizes.out_outer = step.sizes.inner;
  step.smallest = smallest;
  step.find = kernels::kernels().table.extreme;
  step.in = lowering.address(dense);
  step.indices = lowering.address(indices);
  std::vector<StorageId> writes{indices.storage};
  if (values) {
    step.values = lowering.address(*values);
    step.has_values = true;
    writes.push_back(values->storage);
  }
  lowering.emit(std::move(step), {dense.storage}, std::move(writes));
  return true;
}

// argmax(self, dim, keepdim)
template <bool kSmallest>
bool argument_of_extreme(Lowering& lowering, const TracedNode& node) {
  return emit_extreme(lowering, node, node.inputs[1], kSmallest, std::nullopt, lowering.output(node));
}
// max.dim(self, dim, keepdim): the elements and where they are
template <bool kSmallest>
bool extreme_of_dim(Lowering& lowering, const TracedNode& node) {
  return emit_extreme(lowering, node, node.inputs[1], kSmallest, lowering.output(node, 0),
                      lowering.output(node, 1));
}

}  // namespace lower
}  // namespace sr::replay
