// Layouts of the tensors that TensorIterator allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// Returns the condition. Evaluating it adds a guard to the plan, so that it also holds in replays.
inline bool require(bool condition) {
  return condition;
}

// True if two lists of sizes or strides are equal. Each comparison adds a guard to the plan.
inline bool are_equal(c10::ArrayRef<Size> a, c10::ArrayRef<Size> b) {
  return a.size() == b.size() &&
         std::ranges::equal(a, b, [](const Size& one, const Size& other) { return one == other; });
}

// The size that two sizes broadcast to.
inline Size broadcast(const Size& a, const Size& b) {
  if (Size::always_equal(a, b) || b == 1) return a;
  if (a == 1) return b;
  require(a == b);
  return a;
}
inline Dims broadcast(const Dims& a, const Dims& b) {
  if (a.size() < b.size()) return broadcast(b, a);
  Dims sizes = a;
  const std::size_t first = a.size() - b.size();
  for (std::size_t d = 0; d < b.size(); ++d) sizes[first + d] = broadcast(a[first + d], b[d]);
  return sizes;
}

// True if an operand of the first sizes can be broadcast to the second sizes without changing the second.
inline bool broadcasts_to(const Dims& sizes, const Dims& target) {
  if (sizes.size() > target.size()) return false;
  const std::size_t first = target.size() - sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const Size& wanted = target[first + d];
    if (!Size::always_equal(sizes[d], wanted) && sizes[d] != 1 && !require(sizes[d] == wanted)) return false;
  }
  return true;
}

// True if LibTorch takes the strides for those of channels last, as is_channels_last_strides_2d_s4 and
// is_channels_last_strides_3d_s5 (c10/core/MemoryFormat.h) decide.
inline bool is_channels_last(const TensorLayout& layout) {
  const Dims &sizes = layout.sizes, &strides = layout.strides;
  const std::size_t rank = sizes.size();
  if ((rank != 4 && rank != 5) || strides[1] == 0) return false;
  Size least = 0;
  const auto is_next = [&](std::size_t d) {
    if (sizes[d] == 0 || strides[d] < least) return false;
    least = sizes[d] > 1 ? strides[d] * sizes[d] : strides[d];
    return true;
  };
  if (!is_next(1)) return false;
  for (std::size_t d = rank; d-- > 2;) {
    if (!is_next(d)) return false;
  }
  return !(sizes[0] == 0) && !(strides[0] < least) && !(least == strides[1]);
}

// The strides of a dense tensor of 4 or 5 dimensions whose channels lie last.
inline Dims channels_last_strides(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  Size run = sizes[1];
  for (std::size_t d = sizes.size(); d-- > 2;) {
    strides[d] = run;
    run *= sizes[d];
  }
  strides[0] = run;
  return strides;
}

// True if the elements do not fill a contiguous range of memory. Ignores dimensions of size 1, as does
// c10::TensorImpl::compute_non_overlapping_and_dense.
inline bool has_gap(const TensorLayout& layout) {
  std::vector<std::size_t> rest;
  for (std::size_t d = 0; d < layout.sizes.size(); ++d) {
    if (layout.sizes[d] > 1) rest.push_back(d);
  }
  Size run = 1;  // elements of the dimensions that are known to be contiguous
  while (!rest.empty()) {
    const auto next = std::ranges::find_if(rest, [&](std::size_t d) { return layout.strides[d] == run; });
    if (next == rest.end()) return true;
    run *= layout.sizes[*next];
    rest.erase(next);
  }
  return false;
}

// The order in which TensorIterator iterates over the dimensions of `shape`, the innermost one first
// (reorder_dimensions in ATen/TensorIterator.cpp). Comparisons of strides become guards. The strides of a
// dimension along which an operand is broadcast count as 0.
inline std::vector<std::size_t> iteration_order(const std::vector<TensorLayout>& operands,
                                                const Dims& shape) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  const auto stride_of = [&](const TensorLayout& operand, std::size_t d) -> Size {
    const std::size_t added = rank - operand.sizes.size();
    if (d < added || (operand.sizes[d - added] == 1 && !(shape[d] == 1))) return 0;
    return operand.strides[d - added];
  };
  // 1: dimension a comes after b; -1: before b; 0: the operands do not say.
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (const TensorLayout& operand : operands) {
      const Size stride_a = stride_of(operand, a), stride_b = stride_of(operand, b);
      if (stride_a == 0 || stride_b == 0) continue;
      if (stride_a < stride_b) return -1;
      if (stride_b < stride_a || shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  for (std::size_t i = 1; i < rank; ++i) {
    std::size_t moved = i;
    for (std::size_t d = i; d-- > 0;) {
      const int order_of_both = compare(order[d], order[moved]);
      if (order_of_both < 0) break;
      if (order_of_both == 0) continue;
      std::swap(order[d], order[moved]);
      moved = d;
    }
  }
  return order;
}

// The layout of a tensor that TensorIterator allocates for a result of these sizes.
inline TensorLayout iterated(const std::vector<TensorLayout>& operands, const Dims& shape) {
  TensorLayout layout{shape, Dims(shape.size(), 1), 0};
  Size run = 1;
  for (const std::size_t d : iteration_order(operands, shape)) {
    layout.strides[d] = run;
    run *= shape[d];
  }
  return layout;
}

// The layout that TensorIterator chooses without an order, if there is one: for operands of equal sizes that
// are all contiguous, all channels last, or all dense with the same strides (compute_fast_setup_type).
inline std::optional<TensorLayout> iterated_fast(const std::vector<TensorLayout>& operands,
                                                 const Dims& shape) {
  const auto have_shape = [&](const TensorLayout& operand) { return are_equal(operand.sizes, shape); };
  if (!std::ranges::all_of(operands, have_shape)) return std::nullopt;
  if (std::ranges::all_of(operands, is_dense)) return TensorLayout{shape, dense_strides(shape), 0};
  const auto fills = [&](const Dims& strides) {
    return std::ranges::all_of(operands, [&](const TensorLayout& operand) {
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (!(shape[d] == 1) && !(operand.strides[d] == strides[d])) return false;
      }
      return true;
    });
  };
  if (shape.size() == 4 || shape.size() == 5) {
    Dims strides = channels_last_strides(shape);
    if (fills(strides)) return TensorLayout{shape, std::move(strides), 0};
  }
  const auto is_like_first = [&](const TensorLayout& operand) {
    return !has_gap(operand) && are_equal(operand.strides, operands[0].strides);
  };
  if (std::ranges::all_of(operands, is_like_first)) return TensorLayout{shape, operands[0].strides, 0};
  return std::nullopt;
}

// The layout of the tensor that TensorIterator allocates for the operands. A number among the arguments may
// be another operand, which rules out the fast choice, or a parameter, which does not: `has_number` leaves
// both open.
inline std::optional<TensorLayout> iterated_over(const std::vector<TensorLayout>& operands,
                                                 bool has_number = false) {
  if (operands.empty()) return std::nullopt;
  Dims shape = operands[0].sizes;
  for (const TensorLayout& operand : operands) shape = broadcast(shape, operand.sizes);
  std::optional<TensorLayout> layout = iterated_fast(operands, shape);
  if (layout && !has_number) return layout;
  TensorLayout in_order = iterated(operands, shape);
  if (layout && !always_equal(layout->strides, in_order.strides)) return std::nullopt;
  return in_order;
}

// A new tensor of that layout.
inline bool iterate(LayoutRule& rule, const std::vector<TensorLayout>& operands, bool has_number = false) {
  std::optional<TensorLayout> layout = iterated_over(operands, has_number);
  if (!layout) return false;
  rule.fresh(*std::move(layout));
  return true;
}

}  // namespace sr::replay::layouts
