// Layouts of views with the dimensions of the tensor, or some of them, in another order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/reshape.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

inline void erase_dim(TensorLayout& layout, std::size_t dim) {
  layout.sizes.erase(layout.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  layout.strides.erase(layout.strides.begin() + static_cast<std::ptrdiff_t>(dim));
}

// Operators that return x itself or a view of all its elements: detach, alias, dropout outside of training,
// conj of real numbers.
inline bool unchanged(LayoutRule& rule) {
  if (rule.returned().is_input) {
    rule.same(0);
  } else {
    rule.view(0, rule.tensor(0));
  }
  return true;
}

// permute(x, dims)
inline bool permute(LayoutRule& rule) {
  const TensorLayout& self = rule.tensor(0);
  TensorLayout layout{{}, {}, self.offset};
  for (const Size& wanted : rule.integers(1)) {
    const std::int64_t d = wanted.pin();
    const auto from = from_front(d, self.sizes.size());
    layout.sizes.push_back(self.sizes[from]);
    layout.strides.push_back(self.strides[from]);
  }
  rule.view(0, std::move(layout));
  return true;
}

inline bool swapped(LayoutRule& rule, std::size_t a, std::size_t b) {
  TensorLayout layout = rule.tensor(0);
  swap_dims(layout, a, b);
  rule.view(0, std::move(layout));
  return true;
}

// transpose(x, dim0, dim1)
inline bool transpose(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(0).sizes.size();
  return rank != 0 && swapped(rule, rule.dim(1, rank), rule.dim(2, rank));
}

// t(x)
inline bool transpose_matrix(LayoutRule& rule) {
  return rule.tensor(0).sizes.size() == 2 && swapped(rule, 0, 1);
}

// x.T reverses the order of all dimensions.
inline bool reverse_dims(LayoutRule& rule) {
  TensorLayout layout = rule.tensor(0);
  std::ranges::reverse(layout.sizes);
  std::ranges::reverse(layout.strides);
  rule.view(0, std::move(layout));
  return true;
}

// unsqueeze(x, dim)
inline bool unsqueeze(LayoutRule& rule) {
  const TensorLayout& self = rule.tensor(0);
  rule.view(0, unsqueezed(self, rule.dim(1, self.sizes.size() + 1)));
  return true;
}

// squeeze(x), squeeze(x, dim), squeeze(x, dims)
inline bool squeeze(LayoutRule& rule) {
  TensorLayout layout = rule.tensor(0);
  const std::size_t rank = layout.sizes.size();
  std::vector<bool> may_go(rank, rule.input_count() == 1);
  if (rank != 0 && rule.input_count() > 1) {
    for (const Size& dim : rule.integers(1)) may_go[from_front(dim.pin(), rank)] = true;
  }
  for (std::size_t d = rank; d-- > 0;) {
    if (may_go[d] && layout.sizes[d] == 1) erase_dim(layout, d);
  }
  rule.view(0, std::move(layout));
  return true;
}

// An index into a dimension, negative ones from its end.
inline Size wrapped(const Size& index, const Size& size) {
  return index < 0 ? index + size : index;
}

// The end of a slice as an index from 0 to `size`: LibTorch moves indices outside of the dimension to its
// ends.
inline Size within(const Size& index, const Size& size) {
  const Size at = wrapped(index, size);
  return at < 0 ? Size(0) : at >= size ? size : at;
}

// select(x, dim, index)
inline bool select(LayoutRule& rule) {
  TensorLayout layout = rule.tensor(0);
  if (layout.sizes.empty()) return false;
  const std::size_t dim = rule.dim(1, layout.sizes.size());
  const Size index = wrapped(rule.integer(2), layout.sizes[dim]);
  if (!require(index >= 0) || !require(index < layout.sizes[dim])) return false;
  layout.offset += index * layout.strides[dim];
  erase_dim(layout, dim);
  rule.view(0, std::move(layout));
  return true;
}

// A part of a dimension of the first input.
inline void part(LayoutRule& rule, std::size_t dim, const Size& start, const Size& length, const Size& step) {
  TensorLayout layout = rule.tensor(0);
  layout.offset += start * layout.strides[dim];
  layout.sizes[dim] = length;
  layout.strides[dim] *= step;
  rule.view(0, std::move(layout));
}

// slice(x, dim, start, end, step): limits beyond the dimension are its ends.
inline bool slice(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  if (self.sizes.empty()) return false;
  const std::size_t dim = rule.dim(1, self.sizes.size());
  const Size& size = self.sizes[dim];
  const auto limit = [&](std::size_t i, const Size& missing) {
    return rule.value(i).isNone() ? missing : within(rule.integer(i), size);
  };
  const Size start = limit(2, 0), end = limit(3, size), step = rule.integer(4);
  const Size length = end > start ? (end - start + step - 1) / step : Size(0);
  part(rule, dim, start, length, step);
  return true;
}

// diagonal(x, offset, dim1, dim2)
inline bool diagonal(LayoutRule& rule) {
  TensorLayout layout = rule.tensor(0);
  const std::size_t rank = layout.sizes.size();
  if (rank < 2) return false;
  std::size_t first = rule.dim(2, rank), second = rule.dim(3, rank);
  const std::int64_t by = rule.integer(1).pin();
  const Size rows = by < 0 ? layout.sizes[first] + by : layout.sizes[first];
  const Size columns = by < 0 ? layout.sizes[second] : layout.sizes[second] - by;
  if (first == second || !require(rows >= 1) || !require(columns >= 1)) return false;
  layout.offset += by < 0 ? layout.strides[first] * -by : layout.strides[second] * by;
  layout.sizes.push_back(rows < columns ? rows : columns);
  layout.strides.push_back(layout.strides[first] + layout.strides[second]);
  if (first < second) std::swap(first, second);
  erase_dim(layout, first);
  erase_dim(layout, second);
  rule.view(0, std::move(layout));
  return true;
}

// movedim(x, source, destination), for one dimension or lists of them. The other dimensions keep their order.
inline bool move_dims(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  const std::size_t rank = self.sizes.size();
  const Dims sources = rule.integers(1), destinations = rule.integers(2);
  if (rank == 0) return false;
  std::vector<std::size_t> from(rank, rank);  // by place in the result
  std::vector<bool> is_placed(rank);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::size_t source = from_front(sources[i].pin(), rank);
    from[from_front(destinations[i].pin(), rank)] = source;
    is_placed[source] = true;
  }
  TensorLayout layout{{}, {}, self.offset};
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    while (from[d] == rank && is_placed[next]) ++next;
    const std::size_t source = from[d] == rank ? next++ : from[d];
    layout.sizes.push_back(self.sizes[source]);
    layout.strides.push_back(self.strides[source]);
  }
  rule.view(0, std::move(layout));
  return true;
}

// narrow(x, dim, start, length)
inline bool narrow(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  if (self.sizes.empty() || !rule.value(2).isInt()) return false;
  const std::size_t dim = rule.dim(1, self.sizes.size());
  const Size start = wrapped(rule.integer(2), self.sizes[dim]), length = rule.integer(3);
  if (!require(start >= 0) || !require(length >= 0) || !require(start + length <= self.sizes[dim]))
    return false;
  part(rule, dim, start, length, 1);
  return true;
}

// unfold(x, dim, size, step) returns sliding windows over one dimension. Windows overlap if step < size.
inline bool unfold_dim(LayoutRule& rule) {
  TensorLayout layout = rule.tensor(0);
  if (layout.sizes.empty()) return false;
  const std::size_t dim = rule.dim(1, layout.sizes.size());
  const Size size = rule.integer(2), step = rule.integer(3);
  if (!require(step > 0) || !require(size >= 0) || !require(size <= layout.sizes[dim])) return false;
  layout.sizes.push_back(size);
  layout.strides.push_back(layout.strides[dim]);
  layout.sizes[dim] = (layout.sizes[dim] - size) / step + 1;
  layout.strides[dim] *= step;
  rule.view(0, std::move(layout));
  return true;
}

// Returns the layout of a tensor expanded to the wanted sizes; -1 keeps a size. Returns nullopt if the sizes
// do not broadcast.
inline std::optional<TensorLayout> expanded(const TensorLayout& self, const Dims& wanted) {
  if (wanted.size() < self.sizes.size()) return std::nullopt;
  const std::size_t added = wanted.size() - self.sizes.size();
  TensorLayout layout{wanted, Dims(wanted.size(), 0), self.offset};
  for (std::size_t d = wanted.size(); d-- > 0;) {
    if (d >= added) {
      const Size& size = self.sizes[d - added];
      if (wanted[d] == -1 || wanted[d] == size) {
        layout.sizes[d] = size;
        layout.strides[d] = self.strides[d - added];
      } else if (!require(size == 1)) {
        return std::nullopt;
      }
    } else if (!self.sizes.empty() && wanted[d] == 1) {  // as inferExpandGeometry in ATen/ExpandUtils.cpp
      layout.strides[d] = layout.sizes[d + 1] * layout.strides[d + 1];
    }
  }
  return layout;
}
// Adds a view: tensor `nth` of the first input, expanded.
inline bool expand_first(LayoutRule& rule, const Dims& wanted, std::size_t nth = 0) {
  return rule.view_if_known(0, expanded(rule.tensors(0)[nth], wanted), nth);
}

// expand(x, size)
inline bool expand(LayoutRule& rule) {
  return expand_first(rule, rule.integers(1));
}
// expand_as(x, other)
inline bool expand_as(LayoutRule& rule) {
  return expand_first(rule, rule.tensor(1).sizes);
}
// broadcast_tensors(tensors). LibTorch returns a tensor itself if it already has the broadcast sizes.
inline bool expand_all(LayoutRule& rule) {
  const std::vector<TensorLayout> tensors = rule.tensors(0);
  Dims sizes;
  for (const TensorLayout& tensor : tensors) sizes = broadcast(sizes, tensor.sizes);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (are_equal(tensors[i].sizes, sizes)) {
      rule.same(0, i);
    } else if (!expand_first(rule, sizes, i)) {
      return false;
    }
  }
  return true;
}
// meshgrid(tensors, indexing). Vector i is expanded along dimension i; indexing "xy" exchanges dimensions 0
// and 1 (meshgrid in ATen/native/TensorShape.cpp).
inline bool meshgrid(LayoutRule& rule) {
  const std::vector<TensorLayout> lines = rule.tensors(0);
  const bool swaps = rule.input_count() > 1 && rule.value(1).toStringRef() == "xy" && lines.size() >= 2;
  const auto place_of = [&](std::size_t i) { return swaps && i < 2 ? 1 - i : i; };
  Dims sizes(lines.size(), 1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].sizes.size() > 1) return false;
    if (!lines[i].sizes.empty()) sizes[place_of(i)] = lines[i].sizes[0];
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    TensorLayout line{Dims(lines.size(), 1), {}, lines[i].offset};
    line.sizes[place_of(i)] = sizes[place_of(i)];
    const auto strides = strides_of_view(lines[i].sizes, lines[i].strides, line.sizes);
    if (!strides) return false;
    line.strides = *strides;
    auto layout = expanded(line, sizes);
    if (!layout) return false;
    rule.view(0, *std::move(layout), i);
  }
  return true;
}

// x.mT, x.mH, adjoint(x)
inline bool transpose_last(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(0).sizes.size();
  return rank >= 2 && swapped(rule, rank - 2, rank - 1);
}

}  // namespace sr::replay::layouts
