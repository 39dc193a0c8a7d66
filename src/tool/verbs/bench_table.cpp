#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "../drawing/text_table.hpp"
#include "../timing/statistics.hpp"
#include "bench_entry.hpp"

namespace sr::tool {
namespace {

std::string bytes_or_dash(std::optional<memory::Bytes> bytes) {
  return bytes ? std::to_string(*bytes) : "-";
}

std::vector<std::string> row_of(const Entry& entry) {
  std::vector<std::string> row{entry.runner, entry.planner.empty() ? "-" : entry.planner,
                               std::string(name_of(entry.outputs))};
  if (!entry.error.empty() || entry.samples.empty()) return row;
  const Percentiles ranks = percentiles(entry.samples);
  row.push_back(number(median(entry.round_medians)));
  for (const double rank : {ranks.p90, ranks.p99, ranks.max}) row.push_back(number(rank));
  row.push_back(number(entry.throughput_calls / entry.throughput_seconds));
  row.push_back(bytes_or_dash(entry.arena_bytes));
  row.push_back(entry.report ? std::to_string(lower_bound_of(*entry.report)) : "-");
  row.push_back(entry.report ? std::to_string(no_reuse_of(*entry.report)) : "-");
  const AllocationCounts& made = *entry.allocations;
  row.push_back(entry.runner == "sr" ? number(made.own, made.own == std::round(made.own) ? 0 : 2) : "-");
  row.push_back(number(made.total() - (entry.runner == "sr" ? made.own : 0.0), 1));
  std::ostringstream difference;
  difference << std::setprecision(2) << entry.agreement->max_abs_diff
             << (entry.agreement->rounds   ? " rounding"
                 : entry.agreement->agrees ? ""
                                           : " DIFFERS");
  row.push_back(difference.str());
  return row;
}

std::vector<std::string> open_row_of(const Entry& entry) {
  std::vector<std::string> row{entry.runner, entry.planner.empty() ? "-" : entry.planner,
                               std::string(name_of(entry.outputs))};
  if (!entry.error.empty() || !entry.answered) return row;
  const Percentiles ranks = percentiles(entry.answered->latencies);
  for (const double rank : {ranks.p50, ranks.p90, ranks.p99, ranks.p999, ranks.max})
    row.push_back(number(rank));
  row.push_back(number(entry.answered->offered_per_s, 1));
  row.push_back(number(entry.answered->achieved_per_s, 1));
  row.emplace_back(entry.answered->sustained() ? "yes" : "NO");
  return row;
}

// Which plans answered the calls of a stream, for which sizes, and why other calls were not replayed.
void print_paths(std::ostream& out, const std::string& name, const Report& report) {
  out << "    " << name << ": " << report.replayed_calls << " calls replayed; " << report.recorded_plans
      << " plans recorded, " << report.copied_plans << " copied, " << report.plan_bytes << " bytes\n";
  for (const PlanReport& plan : report.plans) {
    out << "      (" << plan.arguments << "): " << plan.replays << " replays, sizes changed "
        << plan.sizes_taken << " times";
    for (const std::string& condition : plan.conditions) out << "; for " << condition;
    for (const std::string& seen : plan.sizes_seen) out << "; so far " << seen;
    out << '\n';
  }
  for (const auto& [why, calls] : report.misses)
    out << "      " << calls << (calls == 1 ? " call" : " calls") << " not replayed. " << why << '\n';
  for (const std::string& pinning : report.pinned_by)
    out << "      A plan for each choice of sizes: how sizes follow through " << pinning
        << " is not known.\n";
}

void print_nodes(std::ostream& out, const IndividualMetrics& metrics) {
  out << '\n';
  for (std::size_t i = 0; i < metrics.time_per_node.size(); ++i) {
    const NodeReport& node = metrics.report.nodes[i];
    out << std::right << std::setw(12) << number(1e6 * metrics.time_per_node[i]) << " ns  " << std::left
        << std::setw(9) << sr::name_of(node.path) << '[' << node.block << '.' << node.index << "] "
        << node.text << '\n';
  }
  out << metrics;
}

}  // namespace

void print_table(std::ostream& out, const Measured& measured) {
  const Entry* ours = nullptr;
  for (const Entry& entry : measured.entries) ours = ours == nullptr && entry.report ? &entry : ours;
  out << measured.path << ": ";
  if (ours != nullptr) {
    out << ours->report->nodes.size() << " nodes, " << ours->report->out_variants << " out, "
        << ours->report->natives << " native, " << ours->report->fallbacks << " fallback; ";
    for (const PlanReport& plan : ours->report->plans) {
      out << "replay in " << plan.kernels << " kernels, " << plan.calls << " calls, " << plan.interpreted
          << " interpreted; ";
      break;
    }
  }
  out << measured.input_sets << (measured.input_sets == 1 ? " input set, " : " input sets in turn, ");
  if (measured.load) {
    out << (measured.load->poisson ? "Poisson arrivals, " : "equal gaps, ")
        << "latency from the intended arrival\n";
  } else {
    out << measured.rounds << " interleaved rounds\n";
  }
  std::vector<std::vector<std::string>> rows{{"runner", "planner", "outputs", "median ns", "p90 ns", "p99 ns",
                                              "max ns", "calls/s", "arena B", "lower bound", "no reuse B",
                                              "own allocs", "other allocs", "max diff"}};
  if (measured.load) {
    rows = {{"runner", "planner", "outputs", "p50 ns", "p90 ns", "p99 ns", "p99.9 ns", "max ns", "offered/s",
             "achieved/s", "sustained"}};
  }
  for (const Entry& entry : measured.entries)
    rows.push_back(measured.load ? open_row_of(entry) : row_of(entry));
  print_rows(out, rows, 3);
  for (const Entry& entry : measured.entries) {
    std::string name = entry.runner;
    if (!entry.planner.empty()) name.append(" ").append(entry.planner);
    if (entry.runner == "sr") name.append(" ").append(name_of(entry.outputs));
    if (!entry.error.empty()) {
      out << "!!! " << name << " FAILED: " << entry.error << '\n';
    } else if (!entry.agreement->agrees) {
      out << "!!! " << name << " DIFFERS from the interpreter: " << entry.agreement->difference << '\n';
    } else if (entry.agreement->rounds) {
      out << "    " << name << ": " << entry.agreement->difference
          << ". The model rounds activations to integers, a few of them to others; with exact numerics all "
             "agree.\n";
    }
    if (entry.error.empty() && entry.answered && !entry.answered->sustained())
      out << "!!! " << verdict(name, *entry.answered) << '\n';
    if (measured.is_stream && entry.report) print_paths(out, name, *entry.report);
    print_steps(out, entry.programs);
    if (entry.nodes) print_nodes(out, *entry.nodes);
  }
  out << '\n';
}

}  // namespace sr::tool
