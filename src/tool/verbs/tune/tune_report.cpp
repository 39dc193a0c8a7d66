#include <nlohmann/json.hpp>

#include "../../drawing/text_table.hpp"
#include "../run_context.hpp"
#include "tune.hpp"

namespace sr::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string unit_of(const TunePoint& point) {
  return point.batch == 0 ? "calls/s" : "examples/s";
}

std::string figures_of(const TunePoint& point) {
  return number(point.throughput(), 1) + ' ' + unit_of(point) + ", p50 " + number(point.p50_us, 1) +
         " us, p99 " + number(point.p99_us, 1) + " us";
}

void print_recommendation(std::ostream& out, const Tuning& tuning, const TuneOptions& options) {
  const std::optional<std::size_t> best = recommend(tuning.points, options.p99_us);
  const std::string goal =
      options.p99_us > 0 ? "throughput with p99 within " + number(options.p99_us, 1) + " us" : "throughput";
  if (!best) {
    const TunePoint& nearest = tuning.points[fastest(tuning.points)];
    out << "\nNo setting has its p99 within " << number(options.p99_us, 1) << " us; the nearest is "
        << text_of(nearest) << ": " << figures_of(nearest)
        << ".\nTry smaller batches (--batch), fewer callers or more threads, or allow more.\n";
    return;
  }
  const TunePoint& point = tuning.points[*best];
  out << "\nRecommended for " << goal << ": " << text_of(point) << ": " << figures_of(point) << ".\n";
  if (options.model.empty()) {
    out << "In code: at::set_num_threads(" << point.threads << ") on each calling thread.\n";
  } else {
    out << "In code: sr::RuntimePoolOptions{.intra_op_threads = " << point.threads << "}, with "
        << point.callers << (point.callers == 1 ? " thread that calls" : " threads that call")
        << " the pool.\n";
  }
}

}  // namespace

void print_tuning(std::ostream& out, const Tuning& tuning, const TuneOptions& options) {
  const bool has_batches = !options.batch.empty(), is_product = tuning.gigaflops_per_call > 0;
  out << tuning.title << " on " << tuning.processors
      << (tuning.processors == 1 ? " processor" : " processors") << '\n';
  std::vector<std::vector<std::string>> rows{{"batch", "threads", "callers", "p50 us", "p99 us", "calls/s"}};
  if (has_batches) rows[0].emplace_back("examples/s");
  if (is_product) rows[0].emplace_back("GFLOP/s");
  bool oversubscribed = false;
  for (const TunePoint& point : tuning.points) {
    auto& row = rows.emplace_back();
    row = {point.batch == 0 ? "-" : std::to_string(point.batch),
           std::to_string(point.threads),
           std::to_string(point.callers),
           number(point.p50_us, 1),
           number(point.p99_us, 1),
           number(point.calls_per_s, 1)};
    if (has_batches) row.push_back(number(point.throughput(), 1));
    if (is_product) row.push_back(number(tuning.gigaflops_per_call * point.calls_per_s, 1));
    if (point.oversubscribed(tuning.processors)) row.emplace_back("*");
    oversubscribed |= point.oversubscribed(tuning.processors);
  }
  print_rows(out, rows, 0);
  if (oversubscribed) out << "* more threads in all than processors\n";
  print_recommendation(out, tuning, options);
}

std::string tuning_json(const Tuning& tuning, const TuneOptions& options) {
  const auto json_of = [&](const TunePoint& point) {
    Json one{{"batch", point.batch == 0 ? Json(nullptr) : Json(point.batch)},
             {"threads", point.threads},
             {"concurrency", point.callers},
             {"p50_us", point.p50_us},
             {"p99_us", point.p99_us},
             {"calls_per_s", point.calls_per_s},
             {"throughput_per_s", point.throughput()},
             {"oversubscribed", point.oversubscribed(tuning.processors)}};
    if (tuning.gigaflops_per_call > 0) one["gflops"] = tuning.gigaflops_per_call * point.calls_per_s;
    return one;
  };
  Json context = run_context(options.version, options.command_line);
  context["processors_allowed"] = tuning.processors;
  context["planner"] = options.model.empty() ? Json(nullptr) : Json(options.planner);
  context["seconds_per_setting"] = options.seconds;
  context["arguments"] = tuning.arguments;
  context["throughput_per_s"] = options.batch.empty() ? "calls" : "rows of the batch";
  Json points = Json::array();
  for (const TunePoint& point : tuning.points) points.push_back(json_of(point));
  const std::optional<std::size_t> best = recommend(tuning.points, options.p99_us);
  return Json{{"context", context},
              {"subject", tuning.title},
              {"points", points},
              {"goal", {{"p99_us", options.p99_us > 0 ? Json(options.p99_us) : Json(nullptr)}}},
              {"recommendation", best ? json_of(tuning.points[*best]) : Json(nullptr)},
              {"shortest_p99", json_of(tuning.points[fastest(tuning.points)])}}
             .dump(1) +
         '\n';
}

}  // namespace sr::tool
