// Layouts of views, and of the copies that reshaping may need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sr/replay/layouts/pointwise.hpp>

namespace sr::replay::layouts {

inline void erase_dim(TensorLayout& layout, std::size_t dim) {
  layout.sizes.erase(layout.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  layout.strides.erase(layout.strides.begin() + static_cast<std::ptrdiff_t>(dim));
}

// The sizes that a view or reshape asks for, with -1 filled in.
inline Dims wanted_sizes(Dims wanted, const Size& count) {
  Size known = 1;
  Size* unknown = nullptr;
  for (Size& size : wanted) {
    if (size == -1) {
      unknown = &size;
    } else {
      known *= size;
    }
  }
  if (unknown == nullptr || known == 0) return wanted;
  require(count % known == 0);
  *unknown = count / known;
  return wanted;
}

inline bool viewed_as(LayoutRule& rule, const Dims& wanted, bool may_copy) {
  const TensorLayout& self = rule.tensor(0);
  if (!require(product_of(wanted) == product_of(self.sizes))) return false;
  if (const auto strides = strides_of_view(self.sizes, self.strides, wanted)) {
    rule.view(0, {wanted, *strides, self.offset});
    return true;
  }
  if (may_copy) rule.dense(wanted);
  return may_copy;
}

// view(x, size)
inline bool view(LayoutRule& rule) {
  return viewed_as(rule, wanted_sizes(rule.integers(1), product_of(rule.tensor(0).sizes)), false);
}

// reshape(x, size): a view where that is possible.
inline bool reshape(LayoutRule& rule) {
  return viewed_as(rule, wanted_sizes(rule.integers(1), product_of(rule.tensor(0).sizes)), true);
}

// flatten(x, start, end)
inline bool flatten(LayoutRule& rule) {
  const c10::ArrayRef<Size> sizes = rule.tensor(0).sizes;
  if (sizes.empty()) return false;
  const std::size_t first = rule.dim(1, sizes.size()), last = rule.dim(2, sizes.size());
  if (first == last) {
    rule.same(0);
    return true;
  }
  Dims wanted(sizes.slice(0, first));
  wanted.push_back(product_of(sizes.slice(first, last - first + 1)));
  const auto rest = sizes.slice(last + 1);
  wanted.append(rest.begin(), rest.end());
  return viewed_as(rule, wanted, true);
}

// unflatten(x, dim, sizes)
inline bool unflatten(LayoutRule& rule) {
  const c10::ArrayRef<Size> sizes = rule.tensor(0).sizes;
  if (sizes.empty()) return false;
  const std::size_t dim = rule.dim(1, sizes.size());
  const Dims parts = wanted_sizes(rule.integers(2), sizes[dim]);
  Dims wanted(sizes.slice(0, dim));
  wanted.append(parts.begin(), parts.end());
  const auto rest = sizes.slice(dim + 1);
  wanted.append(rest.begin(), rest.end());
  return viewed_as(rule, wanted, false);
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
  std::swap(layout.sizes[a], layout.sizes[b]);
  std::swap(layout.strides[a], layout.strides[b]);
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
    if (rule.value(i).isNone()) return missing;
    const Size at = wrapped(rule.integer(i), size);
    return at < 0 ? Size(0) : at >= size ? size : at;
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

// movedim(x, source, destination)
inline bool move_dim(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  const std::size_t rank = self.sizes.size();
  if (rank == 0) return false;
  const std::size_t from = rule.dim(1, rank), to = rule.dim(2, rank);
  TensorLayout layout = self;
  erase_dim(layout, from);
  const auto at = static_cast<std::ptrdiff_t>(to);
  layout.sizes.insert(layout.sizes.begin() + at, self.sizes[from]);
  layout.strides.insert(layout.strides.begin() + at, self.strides[from]);
  rule.view(0, std::move(layout));
  return true;
}

// dropout(x, p, train) outside of training
inline bool dropout(LayoutRule& rule) {
  if (!rule.returned().is_input) return false;
  rule.same(0);
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

// The first input, expanded to these sizes; -1 keeps a size.
inline bool expanded(LayoutRule& rule, const Dims& wanted) {
  const TensorLayout& self = rule.tensor(0);
  if (wanted.size() < self.sizes.size()) return false;
  const std::size_t added = wanted.size() - self.sizes.size();
  TensorLayout layout{wanted, Dims(wanted.size(), 0), self.offset};
  for (std::size_t d = wanted.size(); d-- > 0;) {
    if (d >= added) {
      const Size& size = self.sizes[d - added];
      if (wanted[d] == -1 || wanted[d] == size) {
        layout.sizes[d] = size;
        layout.strides[d] = self.strides[d - added];
      } else if (!require(size == 1)) {
        return false;
      }
    } else if (!self.sizes.empty() && wanted[d] == 1) {  // as inferExpandGeometry in ATen/ExpandUtils.cpp
      layout.strides[d] = layout.sizes[d + 1] * layout.strides[d + 1];
    }
  }
  rule.view(0, std::move(layout));
  return true;
}

// expand(x, size)
inline bool expand(LayoutRule& rule) {
  return expanded(rule, rule.integers(1));
}
// expand_as(x, other)
inline bool expand_as(LayoutRule& rule) {
  return expanded(rule, rule.tensor(1).sizes);
}

// x.mT, x.mH, adjoint(x)
inline bool transpose_last(LayoutRule& rule) {
  const std::size_t rank = rule.tensor(0).sizes.size();
  return rank >= 2 && swapped(rule, rank - 2, rank - 1);
}

}  // namespace sr::replay::layouts
