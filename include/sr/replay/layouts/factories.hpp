// Layouts of tensors that are made of numbers, and of copies with other sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include <sr/replay/layouts/pointwise.hpp>

namespace sr::replay::layouts {

// A new tensor of the sizes that are argument i: zeros(size, ...), new_zeros(x, size, ...)
template <std::size_t i>
bool of_sizes(LayoutRule& rule) {
  const Dims sizes = rule.integers(i);
  for (std::size_t before = 0; before < i; ++before) rule.tensor(before);  // of whatever sizes
  if (!std::ranges::all_of(sizes, [](const Size& size) { return require(size >= 0); })) return false;
  rule.dense(sizes);
  return true;
}

// arange(end, ...)
inline bool range(LayoutRule& rule) {
  if (!rule.value(0).isInt() || !require(rule.integer(0) >= 0)) return false;
  rule.dense({rule.integer(0)});
  return true;
}
// arange(start, end, ...)
inline bool range_from(LayoutRule& rule) {
  if (!rule.value(0).isInt() || !rule.value(1).isInt()) return false;
  const Size count = rule.integer(1) - rule.integer(0);
  if (!require(count >= 0)) return false;
  rule.dense({count});
  return true;
}

// arange(start, end, step, ...)
inline bool range_by_steps(LayoutRule& rule) {
  if (!rule.value(0).isInt() || !rule.value(1).isInt() || !rule.value(2).isInt()) return false;
  const Size span = rule.integer(1) - rule.integer(0);
  const std::int64_t step = rule.integer(2).pin();
  if (step < 1 || !require(span >= 0)) return false;
  const Size rest = span % step;
  const bool is_even = rest.is_constant() && rest == 0;
  rule.dense({is_even ? span / step : (span + step - 1) / step});
  return true;
}

// repeat_interleave(x, repeats, dim, ...)
inline bool repeat_interleave(LayoutRule& rule) {
  if (!is_dense(rule.tensor(0)) || !require(rule.integer(1) >= 0)) return false;
  Dims sizes = rule.tensor(0).sizes;
  if (rule.value(2).isNone()) {
    sizes = {product_of(sizes)};
  } else if (sizes.empty()) {
    return false;
  }
  Size& repeated = sizes[rule.value(2).isNone() ? 0 : rule.dim(2, sizes.size())];
  repeated *= rule.integer(1);
  rule.dense(std::move(sizes));
  return true;
}

// repeat(x, repeats)
inline bool repeat(LayoutRule& rule) {
  const Dims& sizes = rule.tensor(0).sizes;
  Dims made = rule.integers(1);
  if (made.size() < sizes.size() || !is_dense(rule.tensor(0))) return false;
  if (!std::ranges::all_of(made, [](const Size& size) { return require(size >= 0); })) return false;
  const std::size_t first = made.size() - sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d) made[first + d] = made[first + d] * sizes[d];
  rule.dense(std::move(made));
  return true;
}

// constant_pad_nd(x, pads, value): pads are before and behind each dimension, the last one first.
inline bool constant_pad(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  const Dims& pads = rule.integers(1);
  if (pads.size() > 2 * sizes.size() || pads.size() % 2 != 0 || !is_dense(rule.tensor(0))) return false;
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    Size& size = sizes[sizes.size() - 1 - i];
    size = size + pads[2 * i] + pads[2 * i + 1];
    if (!require(size >= 1)) return false;
  }
  rule.dense(std::move(sizes));
  return true;
}

// pad(x, pads, mode, value), with a constant
inline bool pad(LayoutRule& rule) {
  return rule.value(2).toStringRef() == "constant" && constant_pad(rule);
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
  rule.dense(std::move(sizes));
  return true;
}

// upsample(x, output_size, ...) of images, to sizes that do not differ between calls
inline bool upsample(LayoutRule& rule) {
  Dims sizes = rule.tensor(0).sizes;
  if (sizes.size() < 3 || !is_dense(rule.tensor(0))) return false;
  const Numbers& made = rule.returned().sizes[0];
  if (made.size() != sizes.size()) return false;
  for (std::size_t d = 2; d < sizes.size(); ++d) {
    sizes[d].pin();
    sizes[d] = made[d];
  }
  rule.dense(std::move(sizes));
  return true;
}

}  // namespace sr::replay::layouts
