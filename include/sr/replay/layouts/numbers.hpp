// Sizes as numbers of the language: asking for them, and computing with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <torch/csrc/jit/runtime/slice_indices_adjust.h>

#include <sr/replay/layouts/rule.hpp>

namespace sr::replay::layouts {

// size(x)
inline bool sizes(LayoutRule& rule) {
  rule.numbers(rule.tensor(0).sizes);
  return true;
}
// size(x, dim)
inline bool size(LayoutRule& rule) {
  const Dims& all = rule.tensor(0).sizes;
  if (all.empty()) return false;
  rule.number(all[rule.dim(1, all.size())]);
  return true;
}
// numel(x)
inline bool count(LayoutRule& rule) {
  rule.number(product_of(rule.tensor(0).sizes));
  return true;
}
// len(x)
inline bool length(LayoutRule& rule) {
  if (rule.tensor(0).sizes.empty()) return false;
  rule.number(rule.tensor(0).sizes[0]);
  return true;
}
// len(list)
inline bool length_of_list(LayoutRule& rule) {
  rule.tensors(0);  // whose sizes, or numbers, do not matter
  rule.constant();
  return true;
}
// dim(x), dtype(x) and the like, of whatever sizes
inline bool no_matter_of_sizes(LayoutRule& rule) {
  rule.tensor(0);
  rule.constant();
  return true;
}

// Arithmetic, and comparisons, whose answer is then a condition and the same in all calls.
template <class Operation>
bool of_numbers(LayoutRule& rule) {
  const auto result = Operation()(rule.integer(0), rule.integer(1));
  if constexpr (std::is_same_v<decltype(result), const Size>) {
    rule.number(result);
  } else {
    rule.constant();
  }
  return true;
}
inline bool negate(LayoutRule& rule) {
  rule.number(-rule.integer(0));
  return true;
}
// a // b
inline bool floor_divide(LayoutRule& rule) {
  rule.number(rule.integer(0) / rule.integer(1));
  return true;
}
// a % b
inline bool remainder(LayoutRule& rule) {
  rule.number(rule.integer(0) % rule.integer(1));
  return true;
}
// min(a, b), max(a, b)
inline bool smaller(LayoutRule& rule) {
  rule.number(min_of(rule.integer(0), rule.integer(1)));
  return true;
}
inline bool larger(LayoutRule& rule) {
  rule.number(-min_of(-rule.integer(0), -rule.integer(1)));
  return true;
}

// ListConstruct of integers
inline bool list(LayoutRule& rule) {
  Dims all;
  for (std::size_t i = 0; i < rule.input_count(); ++i) {
    if (rule.integers(i).size() != 1 || !rule.value(i).isInt()) return false;
    all.push_back(rule.integer(i));
  }
  rule.numbers(std::move(all));
  return true;
}
// ListUnpack
inline bool unpacked_list(LayoutRule& rule) {
  if (!rule.value(0).isIntList()) return false;
  for (const Size& each : rule.integers(0)) rule.number(each);
  return true;
}
// list[index]
inline bool element(LayoutRule& rule) {
  if (!rule.value(0).isIntList()) return false;
  const Dims& all = rule.integers(0);
  const std::int64_t index = rule.integer(1).pin();
  rule.number(
      all[static_cast<std::size_t>(index < 0 ? index + static_cast<std::int64_t>(all.size()) : index)]);
  return true;
}

// list[start:end:step] of integers
inline bool slice_of_list(LayoutRule& rule) {
  if (!rule.value(0).isIntList()) return false;
  const Dims& all = rule.integers(0);
  const std::int64_t step = rule.integer(3).pin();
  if (step <= 0) return false;
  const auto bound = [&](std::size_t i, std::int64_t if_none) {
    return rule.value(i).isNone() ? if_none : rule.integer(i).pin();
  };
  std::int64_t first = bound(1, 0), last = bound(2, std::numeric_limits<std::int64_t>::max());
  const std::int64_t count =
      torch::jit::slice_indices_adjust(static_cast<std::int64_t>(all.size()), &first, &last, step);
  Dims slice;
  for (std::int64_t i = 0; i < count; ++i) slice.push_back(all[static_cast<std::size_t>(first + i * step)]);
  rule.numbers(std::move(slice));
  return true;
}
// a + b, of lists of integers
inline bool joined_lists(LayoutRule& rule) {
  if (!rule.value(0).isIntList() || !rule.value(1).isIntList()) return false;
  Dims all = rule.integers(0);
  for (const Size& each : rule.integers(1)) all.push_back(each);
  rule.numbers(std::move(all));
  return true;
}
// list(a), a.copy()
inline bool copied_list(LayoutRule& rule) {
  if (!rule.value(0).isIntList()) return false;
  rule.numbers(rule.integers(0));
  return true;
}

}  // namespace sr::replay::layouts
