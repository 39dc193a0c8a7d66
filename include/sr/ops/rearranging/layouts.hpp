// Layouts of tensors that hold the elements of others in another order: joined, repeated, padded, shuffled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <sr/ops/factories/layouts.hpp>
#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/reshape.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

// The result of cat is contiguous, unless all tensors are channels last (cat_compute_output_memory_format in
// ATen/native/TensorShape.cpp). Empty vectors, which it skips, count as contiguous.
inline std::optional<TensorLayout> joined(const std::vector<TensorLayout>& parts, std::size_t dim,
                                          bool has_skipped = false) {
  Dims sizes = parts[0].sizes;
  Size along = 0;
  for (const TensorLayout& part : parts) {
    if (part.sizes.size() != sizes.size()) return std::nullopt;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (d != dim && !require(part.sizes[d] == sizes[d])) return std::nullopt;
    }
    along += part.sizes[dim];
  }
  sizes[dim] = along;
  const bool is_last = !has_skipped && std::ranges::all_of(parts, is_channels_last);
  Dims strides = is_last ? channels_last_strides(sizes) : dense_strides(sizes);
  return TensorLayout{std::move(sizes), std::move(strides), 0};
}

inline std::vector<TensorLayout> parts_to_join(LayoutRule& rule) {
  std::vector<TensorLayout> parts;
  for (std::size_t i = 0; i + 1 < rule.input_count(); ++i)
    parts.insert(parts.end(), rule.tensors(i).begin(), rule.tensors(i).end());
  return parts;
}

// cat(tensors, dim), also with the tensors one by one. It skips empty vectors beside tensors of another rank.
inline bool cat(LayoutRule& rule) {
  std::vector<TensorLayout> parts = parts_to_join(rule);
  const auto is_vector = [](const TensorLayout& part) { return part.sizes.size() == 1; };
  std::size_t skipped = 0;
  if (!std::ranges::all_of(parts, is_vector))
    skipped =
        std::erase_if(parts, [&](const TensorLayout& part) { return is_vector(part) && part.sizes[0] == 0; });
  if (parts.empty() || parts[0].sizes.empty()) return false;
  const std::size_t dim = rule.dim(rule.input_count() - 1, parts[0].sizes.size());
  return rule.fresh_if_known(joined(parts, dim, skipped != 0));
}

// stack(tensors, dim), which is a view of cat(tensors, dim) unless the dimension is the last one (stack in
// ATen/native/TensorShape.cpp)
inline bool stack(LayoutRule& rule) {
  std::vector<TensorLayout> parts = parts_to_join(rule);
  if (parts.empty()) return false;
  const std::size_t rank = parts[0].sizes.size(), dim = rule.dim(rule.input_count() - 1, rank + 1);
  const Dims sizes = parts[0].sizes;
  const auto fits = [&](const TensorLayout& part) { return are_equal(part.sizes, sizes); };
  if (!std::ranges::all_of(parts, fits)) return false;
  if (dim == rank) {
    for (TensorLayout& part : parts) part = unsqueezed(std::move(part), dim);
  }
  auto layout = joined(parts, dim);
  if (!layout) return false;
  if (dim < rank) {
    const auto at = static_cast<std::ptrdiff_t>(dim);
    layout->strides.insert(layout->strides.begin() + at, sizes[dim] * layout->strides[dim]);
    layout->sizes.insert(layout->sizes.begin() + at, Size(static_cast<std::int64_t>(parts.size())));
    layout->sizes[dim + 1] = sizes[dim];
  }
  rule.fresh(*std::move(layout));
  return true;
}

// diag_embed(x, offset, dim1, dim2)
inline bool diag_embed(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (sizes.empty()) return false;
  const std::int64_t by = rule.integer(1).pin();
  const Size edge = sizes.back() + (by < 0 ? -by : by);
  const std::size_t rank = sizes.size() + 1, a = rule.dim(2, rank), b = rule.dim(3, rank);
  sizes.pop_back();
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(std::min(a, b)), edge);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(std::max(a, b)), edge);
  rule.dense(std::move(sizes));
  return true;
}

// block_diag(tensors). A vector counts as a matrix of one row.
inline bool block_diag(LayoutRule& rule) {
  Size rows = 0, columns = 0;
  for (const TensorLayout& tensor : rule.tensors(0)) {
    const Dims& sizes = tensor.sizes;
    rows += sizes.size() == 2 ? sizes[0] : Size(1);
    columns += sizes.empty() ? Size(1) : sizes.back();
  }
  rule.dense({rows, columns});
  return true;
}

// repeat_interleave(x, repeats, dim, ...): without a dimension of all elements in order
inline bool repeat_interleave(LayoutRule& rule) {
  if (!require(rule.integer(1) >= 0)) return false;
  const bool is_flat = rule.value(2).isNone();
  Dims sizes = is_flat ? Dims{product_of(rule.tensor(0).sizes)} : rule.tensor(0).sizes;
  if (sizes.empty()) return false;
  sizes[is_flat ? 0 : rule.dim(2, sizes.size())] *= rule.integer(1);
  rule.dense(std::move(sizes));
  return true;
}

// repeat(x, repeats), tile(x, repeats), which adds missing repeats in front
template <bool kAdds = false>
bool repeat(LayoutRule& rule) {
  const Dims& sizes = rule.tensor(0).sizes;
  Dims made = rule.integers(1);
  if (kAdds && made.size() < sizes.size()) made.insert(made.begin(), sizes.size() - made.size(), Size(1));
  if (made.size() < sizes.size() || !are_sizes(made)) return false;
  const std::size_t first = made.size() - sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d) made[first + d] *= sizes[d];
  rule.dense(std::move(made));
  return true;
}

// constant_pad_nd(x, pads, value), reflection_pad, replication_pad: two numbers for each padded dimension,
// from the last dimension on
inline bool add_pads(Dims& sizes, const Dims& pads) {
  if (pads.size() > 2 * sizes.size() || pads.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    Size& size = sizes[sizes.size() - 1 - i];
    size = size + pads[2 * i] + pads[2 * i + 1];
    if (!require(size >= 1)) return false;
  }
  return true;
}

inline bool padded_to_dense(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (!add_pads(sizes, rule.integers(1))) return false;
  rule.dense(std::move(sizes));
  return true;
}

inline bool padded(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  Dims sizes = self.sizes;
  const Dims& pads = rule.integers(1);
  if (!add_pads(sizes, pads)) return false;
  // Without a positive number the result is a copy of a part of x.
  if (std::ranges::none_of(pads, [](const Size& pad) { return pad > 0; }) && !is_dense(self)) return false;
  suggested(rule, self, std::move(sizes));
  return true;
}

// pad(x, pads, mode, value)
inline bool pad(LayoutRule& rule) {
  if (rule.value(2).toStringRef() == "circular") return padded_to_dense(rule);
  return padded(rule);
}

// pixel_shuffle(x, factor)
inline bool pixel_shuffle(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  const Size& factor = rule.integer(1);
  if (sizes.size() < 3 || !require(factor >= 1)) return false;
  Size& channels = sizes[sizes.size() - 3];
  if (!require(channels % (factor * factor) == 0)) return false;
  channels = channels / (factor * factor);
  sizes[sizes.size() - 2] *= factor;
  sizes[sizes.size() - 1] *= factor;
  const TensorLayout self = rule.tensor(0);
  suggested(rule, self, std::move(sizes));
  return true;
}

// pixel_unshuffle(x, factor)
inline bool pixel_unshuffle(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  Dims sizes = self.sizes;
  const Size factor = rule.integer(1);
  const std::size_t rank = sizes.size();
  if (rank < 3 || !require(factor >= 1) || !require(sizes[rank - 2] % factor == 0) ||
      !require(sizes[rank - 1] % factor == 0))
    return false;
  sizes[rank - 3] = sizes[rank - 3] * factor * factor;
  sizes[rank - 2] = sizes[rank - 2] / factor;
  sizes[rank - 1] = sizes[rank - 1] / factor;
  suggested(rule, self, std::move(sizes));
  return true;
}

// channel_shuffle(x, groups)
inline bool suggested_with_number(LayoutRule& rule) {
  rule.integer(1).pin();
  return suggested_like_first(rule);
}

// roll(x, shifts, dims): without dimensions of all elements in order
inline bool roll(LayoutRule& rule) {
  pinned(rule.integers(1));
  if (!rule.integers(2).empty()) return suggested_like_first(rule);
  rule.dense(rule.tensor(0).sizes);
  return true;
}

// rot90(x, k, dims) returns a flipped copy. For an odd k it also transposes the two dimensions.
inline bool rotate(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  const std::int64_t turns = rule.integer(1).pin() % 4;
  if (turns == 0) return like_first(rule);
  auto layout = copied_in_order(self);
  const std::size_t rank = self.sizes.size();
  if (!layout || rule.integers(2).size() != 2) return false;
  const std::size_t a = from_front(rule.integers(2)[0].pin(), rank);
  const std::size_t b = from_front(rule.integers(2)[1].pin(), rank);
  if (turns % 2 != 0) swap_dims(*layout, a, b);
  rule.fresh(*std::move(layout));
  return true;
}

}  // namespace sr::replay::layouts
