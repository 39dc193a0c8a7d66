#include "report_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "plan_picture.hpp"
#include "svg.hpp"

namespace sr::tool {
namespace {

// Colours that people with each kind of colour blindness tell apart: Okabe and Ito, Color Universal Design,
// 2008.
constexpr const char* kBlue = "#0072b2";
constexpr const char* kOrange = "#e69f00";
constexpr const char* kVermilion = "#d55e00";

constexpr const char* kStyle = R"(<style>
.sr-report { font: 14px/1.4 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 1040px; padding: 8px; }
.sr-report h2 { font-size: 20px; margin: 0 0 4px; }
.sr-report h3 { font-size: 16px; margin: 20px 0 6px; }
.sr-report h4 { font-size: 14px; margin: 14px 0 4px; }
.sr-report table { border-collapse: collapse; font-size: 13px; }
.sr-report th, .sr-report td { text-align: left; padding: 2px 10px 2px 0; vertical-align: top; border-bottom: 1px solid #e0e0e0; }
.sr-report td.sr-number, .sr-report th.sr-number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.sr-report code { font-size: 12px; overflow-wrap: anywhere; }
.sr-report .sr-bar { display: inline-block; height: 11px; }
.sr-report .sr-cell { width: 210px; }
.sr-report svg { max-width: 100%; height: auto; }
.sr-report .sr-note { color: #555; }
</style>
)";

std::string scaled(double seconds) {
  struct Unit {
    double factor;
    const char* name;
  };
  static constexpr std::array kUnits{Unit{1, "s"}, Unit{1e3, "ms"}, Unit{1e6, "us"}, Unit{1e9, "ns"}};
  std::ostringstream text;
  for (const Unit& unit : kUnits) {
    if (seconds * unit.factor < 1 && &unit != &kUnits.back()) continue;
    text.precision(3);
    text << seconds * unit.factor << ' ' << unit.name;
    break;
  }
  return text.str();
}

std::string bytes_text(memory::Bytes bytes) {
  std::ostringstream text;
  text.precision(3);
  if (bytes >= 1 << 20) {
    text << static_cast<double>(bytes) / (1 << 20) << " MiB";
  } else if (bytes >= 1 << 10) {
    text << static_cast<double>(bytes) / (1 << 10) << " KiB";
  } else {
    text << bytes << " bytes";
  }
  return text.str();
}

// What runs a step, which its colour tells.
struct Runs {
  const char* by;
  const char* color;
};

Runs runs_of(const StepReport& step) {
  if (step.kind == "interpreted") return {"the interpreter", kVermilion};
  if (step.kind == "call") return {"LibTorch", kOrange};
  return {"sr", kBlue};
}

class Page {
 public:
  std::string finish() const {
    return "<div class=\"sr-report\">\n" + std::string(kStyle) + out_.str() + "</div>\n";
  }

  void head(const std::string& title, const Report& report) {
    out_ << "<h2>" << escaped(title) << "</h2>\n<p>" << report.nodes.size()
         << " nodes: " << report.out_variants << " out variants, " << report.natives << " native, "
         << report.fallbacks << " left to the interpreter. Planner " << escaped(report.planner) << ".</p>\n";
  }

  void calls(const CallMetrics& calls) {
    if (calls.calls == 0) return;
    out_ << "<h3>Calls</h3>\n<p>" << calls.calls << " calls, " << calls.replayed << " of them replayed, "
         << calls.failed << " failed.";
    for (const auto& [why, count] : calls.misses)
      out_ << "<br>" << count << " not replayed: " << escaped(why);
    out_ << "</p>\n";
    const Latencies& latencies = calls.latencies;
    if (latencies.count() == 0) return;
    out_ << "<table><tr>";
    for (const char* name : {"p50", "p90", "p99", "p99.9"})
      out_ << "<th class=\"sr-number\">" << name << "</th>";
    out_ << "</tr><tr>";
    for (const double part : {0.5, 0.9, 0.99, 0.999})
      out_ << "<td class=\"sr-number\">" << scaled(latencies.quantile(part)) << "</td>";
    out_ << "</tr></table>\n" << histogram(latencies);
  }

  // `level` is that of the heading: 3 for a plan of calls, 4 for one of a block.
  void plan(const PlanReport& plan, int level = 3) {
    out_ << "<h" << level << ">Replay of (" << escaped(plan.arguments) << ")</h" << level << ">\n<p>"
         << plan.replays << " replays; " << plan.kernels << " steps are kernels of sr, " << plan.calls
         << " call LibTorch, " << plan.interpreted << " run in the interpreter. Memory "
         << bytes_text(plan.memory.arena) << ", at least " << bytes_text(plan.memory.lower_bound)
         << ", without reuse " << bytes_text(plan.memory.no_reuse) << ".";
    for (const std::string& condition : plan.conditions) out_ << "<br>For " << escaped(condition);
    for (const std::string& remark : plan.remarks) out_ << "<br>" << escaped(remark);
    out_ << "</p>\n";
    steps(plan);
  }

  // A loop or branch that data decide about, with its plans.
  void block(const BlockReport& block) {
    out_ << "<h3>Data decide about " << escaped(block.name) << "</h3>\n<p>" << block.replayed_runs
         << " runs replayed.";
    for (const auto& [why, count] : block.misses)
      out_ << "<br>" << count << " not replayed: " << escaped(why);
    out_ << "</p>\n";
    for (const PlanReport& plan : block.plans) this->plan(plan, 4);
    reasons(4, block.bailouts, block.pinned_by);
  }

  void memory(const Report& report, const std::string& title) {
    out_ << "<h3>Memory</h3>\n" << plan_svg(report, title);
  }

  void fallbacks(const Report& report) {
    std::vector<const NodeReport*> nodes;
    for (const NodeReport& node : report.nodes) {
      if (node.path == NodeKind::fallback) nodes.push_back(&node);
    }
    if (!nodes.empty()) {
      out_ << "<h3>In the interpreter</h3>\n<table><tr><th>operator</th><th>why</th><th>source</th></tr>\n";
      for (const NodeReport* node : nodes) {
        out_ << "<tr><td><code>" << escaped(node->key) << "</code></td><td>" << escaped(node->why)
             << "</td><td>" << escaped(node->source) << "</td></tr>\n";
      }
      out_ << "</table>\n";
    }
    reasons(3, report.bailouts, report.pinned_by);
  }

 private:
  // Why runs are not replayed, and why they need a plan for each choice of sizes.
  void reasons(int level, const std::vector<std::string>& bailouts,
               const std::vector<std::string>& pinned_by) {
    list(level, "What is never replayed", bailouts);
    list(level, "Operators that need a plan for each choice of sizes", pinned_by);
  }
  void list(int level, const char* heading, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out_ << "<h" << level << '>' << heading << "</h" << level << ">\n<ul>\n";
    for (const std::string& line : lines) out_ << "<li>" << escaped(line) << "</li>\n";
    out_ << "</ul>\n";
  }

  void steps(const PlanReport& plan) {
    double slowest = 0, sum = 0;
    for (const StepReport& step : plan.steps) {
      slowest = std::max(slowest, step.seconds);
      sum += step.seconds;
    }
    const bool is_timed = plan.timed_replays != 0 && slowest > 0;
    out_ << "<table><tr><th class=\"sr-number\">step</th>";
    if (is_timed) out_ << "<th class=\"sr-number\">time</th><th class=\"sr-number\">share</th><th></th>";
    out_ << "<th>kind</th><th>runs in</th><th>operators</th></tr>\n";
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const StepReport& step = plan.steps[i];
      const Runs runs = runs_of(step);
      out_ << "<tr><td class=\"sr-number\">" << i << "</td>";
      if (is_timed) {
        out_ << "<td class=\"sr-number\">" << scaled(step.seconds) << "</td><td class=\"sr-number\">"
             << std::round(1000 * step.seconds / sum) / 10
             << " %</td><td class=\"sr-cell\"><span class=\"sr-bar\" "
             << "style=\"background:" << runs.color
             << ";width:" << std::max(1.0, 200 * step.seconds / slowest) << "px\"></span></td>";
      }
      out_ << "<td>" << escaped(step.kind)
           << "</td><td><span class=\"sr-bar\" style=\"width:11px;background:" << runs.color << "\"></span> "
           << runs.by << "</td><td><code>";
      for (std::size_t op = 0; op < step.ops.size(); ++op)
        out_ << (op == 0 ? "" : ", ") << escaped(step.ops[op]);
      out_ << "</code></td></tr>\n";
    }
    out_ << "</table>\n";
    if (!is_timed) out_ << "<p class=\"sr-note\">Steps were not timed.</p>\n";
  }

  // A bar for each bucket from the first to the last that holds calls.
  static std::string histogram(const Latencies& latencies) {
    const auto& counts = latencies.counts;
    const auto holds = [](std::uint64_t count) { return count != 0; };
    const auto first = static_cast<std::size_t>(std::ranges::find_if(counts, holds) - counts.begin());
    std::size_t end = counts.size();
    while (counts[end - 1] == 0) --end;
    const double most = static_cast<double>(*std::ranges::max_element(counts));
    constexpr double kPage = 560, kLeft = 8, kTop = 8, kHigh = 110, kLegend = 26;
    const double step = std::min(24.0, (kPage - 2 * kLeft) / static_cast<double>(end - first));
    Svg svg(kPage);
    for (std::size_t i = first; i < end; ++i) {
      const double height = kHigh * static_cast<double>(counts[i]) / most;
      const double x = kLeft + step * static_cast<double>(i - first);
      svg.bar(x, kTop + kHigh - height, std::max(1.0, step - 1), height, kBlue);
    }
    svg.line(kLeft, kTop + kHigh, kLeft + step * static_cast<double>(end - first), kTop + kHigh, "#555555");
    svg.text(kLeft, kTop + kHigh + 16, "start",
             "latency of calls: " + (first == 0 ? "0 ns" : scaled(Latencies::end_of(first - 1))) + " to " +
                 scaled(Latencies::end_of(end - 1)) + ", a quarter of an octave a bar",
             11);
    return svg.finish(kTop + kHigh + kLegend);
  }

  std::ostringstream out_;
};

}  // namespace

std::string report_fragment(const std::string& title, const Report& report, const CallMetrics& calls) {
  Page page;
  page.head(title, report);
  page.calls(calls);
  for (const PlanReport& plan : report.plans) page.plan(plan);
  for (const BlockReport& block : report.decided_blocks) page.block(block);
  page.memory(report, title);
  page.fallbacks(report);
  return page.finish();
}

std::string report_page(const std::string& title, const Report& report, const CallMetrics& calls) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
         "content=\"width=device-width, initial-scale=1\">\n<title>sr: " +
         escaped(title) + "</title>\n</head>\n<body>\n" + report_fragment(title, report, calls) +
         "</body>\n</html>\n";
}

}  // namespace sr::tool
