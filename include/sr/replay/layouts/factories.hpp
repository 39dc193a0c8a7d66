// Layouts of new tensors: factories, and copies whose sizes differ from those of the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <c10/core/MemoryFormat.h>

#include <sr/replay/layouts/pointwise.hpp>

namespace sr::replay::layouts {

// Whether no size is negative.
inline bool are_sizes(const Dims& sizes) {
  return std::ranges::all_of(sizes, [](const Size& size) { return require(size >= 0); });
}

// Adds a new contiguous tensor of these sizes. Returns false if a size is negative.
inline bool dense_of(LayoutRule& rule, Dims sizes) {
  if (!are_sizes(sizes)) return false;
  rule.dense(std::move(sizes));
  return true;
}

// Factories whose argument i is the sizes: zeros(size, ...), new_zeros(x, size, ...)
template <std::size_t i>
bool of_sizes(LayoutRule& rule) {
  for (std::size_t before = 0; before < i; ++before) rule.tensor(before);  // whose sizes do not matter
  return dense_of(rule, rule.integers(i));
}

// randint(high, size), randint(low, high, size): argument i holds the sizes, and the integers before it bound
// the random numbers.
template <std::size_t i>
bool drawn(LayoutRule& rule) {
  for (std::size_t before = 0; before < i; ++before) rule.compute_with(before);
  return dense_of(rule, rule.integers(i));
}
// Factories whose first arguments are the sizes, one by one: randperm(n), hann_window(n), eye(n, m)
template <std::size_t kCount>
bool of_counts(LayoutRule& rule) {
  Dims sizes;
  for (std::size_t i = 0; i < kCount; ++i) sizes.push_back(rule.integer(i));
  return dense_of(rule, std::move(sizes));
}
// eye(n)
inline bool square(LayoutRule& rule) {
  return dense_of(rule, {rule.integer(0), rule.integer(0)});
}
// tensor(number), scalar_tensor(number)
inline bool of_number(LayoutRule& rule) {
  if (rule.value(0).isInt()) rule.compute_with(0);
  rule.dense({});
  return true;
}
// linspace(start, end, steps, ...)
inline bool linspace(LayoutRule& rule) {
  for (const std::size_t i : {0, 1}) {
    if (rule.value(i).isInt()) rule.compute_with(i);
  }
  return dense_of(rule, {rule.integer(2)});
}
// affine_grid_generator(theta, size, align_corners). The result has the coordinates of each output pixel.
inline bool affine_grid(LayoutRule& rule) {
  rule.tensor(0);
  Dims sizes = rule.integers(1);
  if (sizes.size() < 3) return false;
  sizes.erase(sizes.begin() + 1);  // the channels
  sizes.push_back(static_cast<std::int64_t>(sizes.size()) - 1);
  rule.dense(std::move(sizes));
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

// The integers from `start` to `end`, without the end, in steps of at least 1.
inline bool counted(LayoutRule& rule, const Size& start, const Size& end, std::int64_t step) {
  const Size span = end - start;
  if (step < 1 || !require(span >= 0)) return false;
  const Size rest = span % step;
  const bool is_even = rest.is_constant() && rest == 0;  // in all calls
  rule.dense({is_even ? span / step : (span + step - 1) / step});
  return true;
}
// arange(end, ...)
inline bool range(LayoutRule& rule) {
  return rule.value(0).isInt() && counted(rule, 0, rule.integer(0), 1);
}
// arange(start, end, ...)
inline bool range_from(LayoutRule& rule) {
  return rule.value(0).isInt() && rule.value(1).isInt() && counted(rule, rule.integer(0), rule.integer(1), 1);
}
// arange(start, end, step, ...)
inline bool range_by_steps(LayoutRule& rule) {
  return rule.value(0).isInt() && rule.value(1).isInt() && rule.value(2).isInt() &&
         counted(rule, rule.integer(0), rule.integer(1), rule.integer(2).pin());
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

// zeros_like(x, ..., memory_format), empty_like, full_like
inline bool like_in_format(LayoutRule& rule) {
  const c10::IValue& format = rule.value(rule.input_count() - 1);
  if (format.isNone() || format.toInt() == static_cast<std::int64_t>(c10::MemoryFormat::Preserve))
    return copy_in_order(rule);
  return format.toInt() == static_cast<std::int64_t>(c10::MemoryFormat::Contiguous) && like_first(rule);
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

// upsample_nearest2d(x, output_size, scales) and the like. The batch may differ between calls, the image not.
inline bool upsample(LayoutRule& rule) {
  const TensorLayout self = rule.tensor(0);
  Dims sizes = self.sizes;
  if (sizes.size() < 3) return false;
  const Numbers& made = rule.returned().sizes[0];
  if (made.size() != sizes.size()) return false;
  for (std::size_t d = 2; d < sizes.size(); ++d) {
    sizes[d].pin();
    sizes[d] = made[d];
  }
  suggested(rule, self, std::move(sizes));
  return true;
}

}  // namespace sr::replay::layouts
