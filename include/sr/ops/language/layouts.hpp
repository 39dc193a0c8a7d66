// Sizes as numbers of the language: asking for them, and computing with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <torch/csrc/jit/runtime/slice_indices_adjust.h>

#include <sr/replay/sizes/rule.hpp>

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
// dim(x), dtype(x), result_type(x, y): operators whose result does not depend on sizes
inline bool no_matter_of_sizes(LayoutRule& rule) {
  for (std::size_t i = 0; i < rule.input_count(); ++i) {
    if (rule.has_tensor(i)) rule.tensor(i);
  }
  rule.constant();
  return true;
}
// is_contiguous(x). The recorded answer becomes a guard of the plan.
inline bool asks_whether_dense(LayoutRule& rule) {
  const TensorLayout& self = rule.tensor(0);
  if (!(product_of(self.sizes) == 0)) is_dense(self);
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
// eq and ne of lists of integers. Up to the first place where they differ, all calls find the same.
inline bool compare_lists(LayoutRule& rule) {
  const Dims &a = rule.integers(0), &b = rule.integers(1);
  for (std::size_t i = 0; a.size() == b.size() && i < a.size(); ++i) {
    if (!(a[i] == b[i])) break;
  }
  rule.constant();
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
// divmod(a, b)
inline bool divide_with_rest(LayoutRule& rule) {
  return floor_divide(rule) && remainder(rule);
}
// abs(a)
inline bool absolute(LayoutRule& rule) {
  if (!rule.value(0).isInt()) return false;
  const Size a = rule.integer(0);
  rule.number(a < 0 ? -a : a);
  return true;
}
// a << b, a >> b
template <bool kLeft>
bool shift(LayoutRule& rule) {
  const std::int64_t by = rule.integer(1).pin();
  if (by < 0 || by > 62) return false;
  const Size factor = std::int64_t{1} << by;
  rule.number(kLeft ? rule.integer(0) * factor : rule.integer(0) / factor);
  return true;
}
// sum(list)
inline bool sum_of_list(LayoutRule& rule) {
  Size sum = 0;
  for (const Size& integer : rule.integers(0)) sum += integer;
  rule.number(sum);
  return true;
}
// `x if condition else y` for integers or tensors. The condition has the value of the recorded call, since
// earlier comparisons are guards.
inline bool choose(LayoutRule& rule) {
  const std::size_t chosen = rule.value(0).toBool() ? 1 : 2;
  if (rule.has_tensor(1) && rule.has_tensor(2)) {
    rule.tensor(3 - chosen);
    rule.same(chosen);
    return true;
  }
  if (!rule.value(1).isInt() || !rule.value(2).isInt()) return false;
  rule.integer(3 - chosen);
  rule.number(rule.integer(chosen));
  return true;
}
// stride(x)
inline bool strides(LayoutRule& rule) {
  rule.numbers(rule.tensor(0).strides);
  return true;
}
// stride(x, dim)
inline bool stride(LayoutRule& rule) {
  const Dims& all = rule.tensor(0).strides;
  if (all.empty()) return false;
  rule.number(all[rule.dim(1, all.size())]);
  return true;
}
// min and max of integers, or of a list of integers
template <bool kLeast>
bool extreme(LayoutRule& rule) {
  std::optional<Size> found;
  for (std::size_t i = 0; i < rule.input_count(); ++i) {
    if (!rule.value(i).isInt() && !rule.value(i).isIntList()) return false;
    for (const Size& integer : rule.integers(i)) {
      if (!found) {
        found = integer;
      } else {
        found = kLeast ? min_of(*found, integer) : -min_of(-*found, -integer);
      }
    }
  }
  if (found) rule.number(*found);
  return found.has_value();
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
