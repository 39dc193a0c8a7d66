#include "tune_point.hpp"

#include <algorithm>
#include <tuple>

namespace sr::tool {

std::vector<int> counts_to_try(int processors) {
  std::vector<int> counts;
  for (int count = 1; count < processors; count += std::max(1, count / 4)) counts.push_back(count);
  counts.push_back(processors);
  return counts;
}

std::optional<std::size_t> recommend(std::span<const TunePoint> points, double p99_us) {
  const auto allowed = [&](const TunePoint& point) { return p99_us <= 0 || point.p99_us <= p99_us; };
  double best = 0;
  for (const TunePoint& point : points) {
    if (allowed(point)) best = std::max(best, point.throughput());
  }
  const auto rank = [](const TunePoint& point) {
    return std::tuple(point.threads * point.callers, point.p99_us);
  };
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!allowed(points[i]) || points[i].throughput() < 0.98 * best) continue;
    if (!chosen || rank(points[i]) < rank(points[*chosen])) chosen = i;
  }
  return chosen;
}

std::size_t fastest(std::span<const TunePoint> points) {
  const auto found = std::ranges::min_element(points, {}, &TunePoint::p99_us);
  return static_cast<std::size_t>(found - points.begin());
}

std::string text_of(const TunePoint& point) {
  const auto counted = [](int count, const std::string& what) {
    return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
  };
  return (point.batch == 0 ? "" : "batch " + std::to_string(point.batch) + ", ") +
         counted(point.threads, "intra-op thread") + ", " + counted(point.callers, "caller");
}

}  // namespace sr::tool
