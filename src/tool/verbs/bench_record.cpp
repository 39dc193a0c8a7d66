#include <algorithm>
#include <nlohmann/json.hpp>

#include <ATen/Parallel.h>

#include "../timing/statistics.hpp"
#include "bench_entry.hpp"
#include "run_context.hpp"

namespace sr::tool {
namespace {

using Json = nlohmann::ordered_json;

Json nodes_json(const IndividualMetrics& metrics) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < metrics.time_per_node.size(); ++i) {
    const NodeReport& node = metrics.report.nodes[i];
    nodes.push_back({{"block", node.block},
                     {"index", node.index},
                     {"key", node.key},
                     {"path", sr::name_of(node.path)},
                     {"ns", 1e6 * metrics.time_per_node[i]}});
  }
  Json kinds = Json::array();
  for (const auto& [kind, time] : metrics.time_per_node_type) {
    kinds.push_back({{"kind", kind},
                     {"nodes", metrics.instances_per_node_type.at(kind)},
                     {"ns", 1e6 * time},
                     {"percent", metrics.percent_per_node_type.at(kind)}});
  }
  return {{"setup_ns", 1e6 * metrics.setup_time},
          {"memory_alloc_ns", 1e6 * metrics.memory_alloc_time},
          {"memory_dealloc_ns", 1e6 * metrics.memory_dealloc_time},
          {"output_dealloc_ns", 1e6 * metrics.output_dealloc_time},
          {"first_iter_ns", 1e6 * metrics.first_iter_time},
          {"total_ns", 1e6 * metrics.total_time},
          {"nodes", nodes},
          {"kinds", kinds}};
}

Json open_loop_json(const Answered& answered) {
  const Percentiles ranks = percentiles(answered.latencies);
  return {{"arrivals", answered.latencies.size()},
          {"not_begun", answered.not_begun},
          {"offered_per_s", answered.offered_per_s},
          {"achieved_per_s", answered.achieved_per_s},
          {"sustained", answered.sustained()},
          {"p50_ns", ranks.p50},
          {"p90_ns", ranks.p90},
          {"p99_ns", ranks.p99},
          {"p999_ns", ranks.p999},
          {"max_ns", ranks.max}};
}

// Returns what print_paths prints.
Json paths_json(const Report& report) {
  Json plans = Json::array();
  for (const PlanReport& plan : report.plans) {
    plans.push_back({{"arguments", plan.arguments},
                     {"replays", plan.replays},
                     {"sizes_taken", plan.sizes_taken},
                     {"conditions", plan.conditions},
                     {"remarks", plan.remarks},
                     {"sizes_seen", plan.sizes_seen}});
  }
  Json misses = Json::object();
  for (const auto& [why, calls] : report.misses) misses[why] = calls;
  return {{"replayed_calls", report.replayed_calls},
          {"recorded_plans", report.recorded_plans},
          {"copied_plans", report.copied_plans},
          {"plan_bytes", report.plan_bytes},
          {"plans", plans},
          {"misses", misses},
          {"pinned_by", report.pinned_by}};
}

}  // namespace

void add_results(Json& results, const Measured& measured, const BenchOptions& options) {
  for (const Entry& entry : measured.entries) {
    const bool ours = entry.runner == "sr";
    const bool timed = entry.error.empty() && !entry.samples.empty();
    const auto or_null = [](bool applies, const auto& value) {
      return applies ? Json(value()) : Json(nullptr);
    };
    const Percentiles ranks = timed ? percentiles(entry.samples) : Percentiles{};
    const auto rounds =
        timed ? percentiles({entry.round_medians.begin(), entry.round_medians.end()}) : Percentiles{};
    Json line{
        {"model", measured.path},
        {"runner", entry.runner},
        {"planner", or_null(ours, [&] { return entry.planner; })},
        {"replay", or_null(ours, [&] { return entry.report && !entry.report->plans.empty(); })},
        {"outputs", name_of(entry.outputs)},
        {"threads", options.threads},
        {"concurrency", options.concurrency},
        {"iterations", or_null(timed, [&] { return entry.samples.size(); })},
        {"rounds", or_null(timed, [&] { return entry.round_medians.size(); })},
        {"median_ns", or_null(timed, [&] { return median(entry.round_medians); })},
        {"p50_ns", or_null(timed, [&] { return ranks.p50; })},
        {"p90_ns", or_null(timed, [&] { return ranks.p90; })},
        {"p99_ns", or_null(timed, [&] { return ranks.p99; })},
        {"max_ns", or_null(timed, [&] { return ranks.max; })},
        {"p90_of_rounds_ns", or_null(timed, [&] { return rounds.p90; })},
        {"throughput_per_s",
         or_null(timed, [&] { return entry.throughput_calls / entry.throughput_seconds; })},
        {"arena_bytes", or_null(entry.arena_bytes.has_value(), [&] { return *entry.arena_bytes; })},
        {"lower_bound_bytes",
         or_null(entry.report.has_value(), [&] { return lower_bound_of(*entry.report); })},
        {"no_reuse_bytes", or_null(entry.report.has_value(), [&] { return no_reuse_of(*entry.report); })}};
    const bool counted = entry.allocations.has_value();
    line["allocations_per_run"] =
        or_null(counted, [&] { return ours ? entry.allocations->own : entry.allocations->total(); });
    if (counted && ours && !entry.allocations->own_places.empty())
      line["allocation_places"] = entry.allocations->own_places;  // for addr2line
    line["kernel_allocations_per_run"] = or_null(counted && ours, [&] { return entry.allocations->library; });
    line["result_allocations_per_run"] = or_null(counted && ours, [&] { return entry.allocations->results; });
    const bool compared = entry.agreement.has_value();
    line["max_abs_diff"] = or_null(compared, [&] { return entry.agreement->max_abs_diff; });
    line["agrees"] = or_null(compared, [&] { return entry.agreement->agrees; });
    line["coverage"] = or_null(entry.report.has_value(), [&] {
      return Json{{"nodes", entry.report->nodes.size()},
                  {"out", entry.report->out_variants},
                  {"native", entry.report->natives},
                  {"fallback", entry.report->fallbacks}};
    });
    if (measured.is_stream && entry.report) line["paths"] = paths_json(*entry.report);
    if (compared && !entry.agreement->agrees) line["difference"] = entry.agreement->difference;
    if (!entry.error.empty()) line["error"] = entry.error;
    if (entry.answered) line["open_loop"] = open_loop_json(*entry.answered);
    if (!entry.programs.empty()) line["steps"] = steps_json(entry.programs);
    if (entry.nodes) line["ops"] = nodes_json(*entry.nodes);
    results.push_back(std::move(line));
  }
}

Json context_of(const BenchOptions& options) {
  Json context = run_context(options.version, options.command_line);
  context["threads"] = options.threads;
  context["interop_threads"] = at::get_num_interop_threads();
  context["concurrency"] = options.concurrency;
  context["median_ns"] = "median of the medians of the rounds; p50_ns and above: all calls of all rounds";
  context["throughput_per_s"] =
      "all callers; holds the making of the argument vectors, which latencies do not";
  if (options.load.rate > 0) {
    context["open_loop"] = "latencies from the intended arrivals, those of calls never begun lower bounds";
    context["rate_per_s"] = options.load.rate;
    context["poisson"] = options.load.poisson;
  }
  return context;
}

}  // namespace sr::tool
