#include "arrivals.hpp"

#include <cmath>
#include <random>

#include "../drawing/text_table.hpp"

namespace sr::tool {

std::vector<std::chrono::nanoseconds> arrival_times(const Load& load, std::size_t count) {
  // The distributions of the standard library differ from one to the next; its generators do not.
  std::mt19937_64 generator(load.seed);
  const double gap = 1e9 / load.rate;
  std::vector<std::chrono::nanoseconds> times;
  times.reserve(count);
  double random_at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double at = load.poisson ? random_at : gap * static_cast<double>(i);
    times.emplace_back(std::llround(at));
    const double below_one = static_cast<double>(generator() >> 11) * 0x1p-53;
    random_at -= gap * std::log1p(-below_one);
  }
  return times;
}

std::chrono::nanoseconds horizon_of(const std::vector<std::chrono::nanoseconds>& arrivals) {
  const auto gaps = static_cast<std::int64_t>(arrivals.size() - 1);
  return arrivals.back() + arrivals.back() / gaps;
}

std::string verdict(const std::string& runner, const Answered& answered) {
  std::string text = "NOT SUSTAINED by " + runner + ": " + number(answered.offered_per_s, 1) +
                     " calls a second arrived and " + number(answered.achieved_per_s, 1) + " were begun";
  if (answered.not_begun > 0) {
    text += ", " + std::to_string(answered.not_begun) + " of " + std::to_string(answered.latencies.size()) +
            " never, so that the latencies above are lower bounds";
  }
  return text +
         "; the queue, and with it the latency, grows for as long as that lasts. Lower --rate, or raise "
         "--concurrency while there are cores.";
}

}  // namespace sr::tool
