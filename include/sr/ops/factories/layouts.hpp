// Layouts of what factories return.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <c10/core/MemoryFormat.h>

#include <sr/replay/sizes/common_layouts.hpp>
#include <sr/replay/sizes/iterated.hpp>
#include <sr/replay/sizes/rule.hpp>

namespace sr::replay::layouts {

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

// zeros_like(x, ..., memory_format), empty_like, full_like
inline bool like_in_format(LayoutRule& rule) {
  const c10::IValue& format = rule.value(rule.input_count() - 1);
  if (format.isNone() || format.toInt() == static_cast<std::int64_t>(c10::MemoryFormat::Preserve))
    return copy_in_order(rule);
  return format.toInt() == static_cast<std::int64_t>(c10::MemoryFormat::Contiguous) && like_first(rule);
}

}  // namespace sr::replay::layouts
