#include "tune_plot.hpp"

#include <array>
#include <map>
#include <utility>

#include "chart.hpp"

namespace sr::tool {

std::string tuning_svg(const Tuning& tuning) {
  struct Figures {
    Line p50, p99, throughput;
  };
  std::map<std::pair<std::int64_t, int>, Figures> families;  // by batch and callers
  for (const TunePoint& point : tuning.points) {
    Figures& family = families[{point.batch, point.callers}];
    family.p50.points.emplace_back(point.threads, point.p50_us);
    family.p99.points.emplace_back(point.threads, point.p99_us);
    family.throughput.points.emplace_back(point.threads, point.throughput());
  }
  const bool has_batches = !tuning.points.empty() && tuning.points.front().batch != 0;
  Chart latency{"Latency of a call", "intra-op threads", "microseconds", {}},
      throughput{"Throughput of all callers",
                 "intra-op threads",
                 has_batches ? "examples a second" : "calls a second",
                 {}};
  int hue = 0;
  for (auto& [key, family] : families) {
    const std::string name = (has_batches ? "batch " + std::to_string(key.first) + ", " : "") +
                             std::to_string(key.second) + (key.second == 1 ? " caller" : " callers");
    family.p50.name = name + ", p50";
    family.p99.name = name + ", p99";
    family.p99.dashed = true;
    family.throughput.name = name;
    for (Line* line : {&family.p50, &family.p99, &family.throughput}) line->hue = hue;
    hue = (hue + 137) % 360;  // a golden angle apart: neighbours never look alike
    latency.lines.push_back(std::move(family.p50));
    latency.lines.push_back(std::move(family.p99));
    throughput.lines.push_back(std::move(family.throughput));
  }
  const std::array charts{std::move(latency), std::move(throughput)};
  return charts_svg(tuning.title + ", " + std::to_string(tuning.processors) +
                        (tuning.processors == 1 ? " processor" : " processors"),
                    charts);
}

}  // namespace sr::tool
