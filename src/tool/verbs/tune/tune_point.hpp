// One setting of a sweep with what was measured there, and the choice between settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sr::tool {

struct TunePoint {
  std::int64_t batch = 0;  // 0: the arguments as they were given
  int threads = 1;         // intra-op, of each caller
  int callers = 1;
  double p50_us = 0, p99_us = 0;  // of one call
  double calls_per_s = 0;         // of all callers

  // Examples a second, or calls where there is no batch to count.
  double throughput() const { return calls_per_s * static_cast<double>(batch == 0 ? 1 : batch); }
  bool oversubscribed(int processors) const { return threads * callers > processors; }
  friend bool operator==(const TunePoint&, const TunePoint&) = default;
};

// What a sweep measured.
struct Tuning {
  std::string title;
  std::vector<TunePoint> points;       // by batch, then threads, then callers
  std::vector<std::string> arguments;  // of the first input set, by batch
  int processors = 1;
  double gigaflops_per_call = 0;  // of a product
};

// Thread counts worth trying on so many processors: all up to eight, then in larger and larger strides; the
// last is `processors`.
std::vector<int> counts_to_try(int processors);

// Index of the setting with the highest throughput whose p99 is within `p99_us` (0: any). Settings within 2 %
// of the best count as equal, since a second measurement might order them differently: among them it is the
// one with the fewest threads in all, then with the shortest p99. Nothing if no setting is within `p99_us`.
std::optional<std::size_t> recommend(std::span<const TunePoint> points, double p99_us);

// Index of the setting with the shortest p99. `points` is not empty.
std::size_t fastest(std::span<const TunePoint> points);

// "batch 8, 2 intra-op threads, 1 caller"
std::string text_of(const TunePoint& point);

}  // namespace sr::tool
