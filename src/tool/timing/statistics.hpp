// Order statistics of timings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace sr::tool {

// Smallest value that at least `share` of the values do not exceed (nearest rank). `sorted` is not empty.
inline double percentile(std::span<const float> sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size());
  std::size_t index = static_cast<std::size_t>(rank);
  if (static_cast<double>(index) == rank && index > 0) --index;
  return sorted[std::min(index, sorted.size() - 1)];
}

// Mean of the two middle values when their number is even. `values` is not empty.
template <class Number>
double median(std::vector<Number> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (static_cast<double>(*middle) + *std::max_element(values.begin(), middle)) / 2;
}

struct Percentiles {
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

inline Percentiles percentiles(std::vector<float> values) {
  std::ranges::sort(values);
  return {percentile(values, 0.5), percentile(values, 0.9), percentile(values, 0.99),
          percentile(values, 0.999), values.back()};
}

}  // namespace sr::tool
