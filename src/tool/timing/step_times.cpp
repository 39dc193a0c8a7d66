#include "step_times.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "../drawing/svg.hpp"
#include "../drawing/text_table.hpp"
#include "statistics.hpp"

namespace sr::tool {

std::vector<ProgramTimes> time_steps(Runner& runner, const std::vector<ArgumentList>& sets, double seconds) {
  for (const ArgumentList& set : sets) runner.reserve(set);
  const auto call = [&] {
    for (std::size_t i = 0; i < sets.size(); ++i) runner.run(ArgumentList(sets[i]), i);
  };
  return profile({.call = call,
                  .time_steps = [&](bool on) { runner.time_steps(on); },
                  .report = [&] { return runner.report().value(); }},
                 seconds);
}

namespace {

std::string name_of(const ProgramTimes& program) {
  return program.block.empty() ? "replay of (" + program.arguments + ")"
                               : "run of " + program.block + " (" + program.arguments + ")";
}

}  // namespace

void print_steps(std::ostream& out, const std::vector<ProgramTimes>& programs) {
  for (const ProgramTimes& program : programs) {
    const double total = program.total();
    out << "\nSteps of the " << name_of(program) << ", " << number(1e9 * total)
        << " ns together (the rest of a call is finding the program and making the results):\n";
    std::vector<std::vector<std::string>> rows{{"ns", "share", "  step"}};
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const StepTime& step = program.steps[i];
      rows.push_back({number(1e9 * step.seconds, step.seconds < 1e-7 ? 1 : 0),
                      number(total == 0 ? 0 : 100 * step.seconds / total, 1) + " %",
                      "  [" + std::to_string(i) + "] " + step.report.label()});
    }
    std::size_t widest = 0, share = 0;
    for (const auto& row : rows) {
      widest = std::max(widest, row[0].size());
      share = std::max(share, row[1].size());
    }
    for (const auto& row : rows) {
      out << std::string(widest - row[0].size(), ' ') << row[0] << "  "
          << std::string(share - row[1].size(), ' ') << row[1] << row[2] << '\n';
    }
  }
}

nlohmann::ordered_json steps_json(const std::vector<ProgramTimes>& programs) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ProgramTimes& program : programs) {
    nlohmann::ordered_json steps = nlohmann::ordered_json::array();
    for (const StepTime& step : program.steps)
      steps.push_back({{"step", step.report.label()}, {"ns", 1e9 * step.seconds}});
    all.push_back({{"arguments", program.arguments},
                   {"block", program.block},
                   {"ns", 1e9 * program.total()},
                   {"steps", std::move(steps)}});
  }
  return all;
}

std::string steps_svg(const std::vector<ProgramTimes>& programs, const std::string& title) {
  constexpr double kWidth = 1000, kMargin = 12, kRow = 22, kHead = 44, kFigures = 130;
  constexpr std::size_t kLongest = 60;
  std::size_t longest = 0;
  double slowest = 0;
  for (const ProgramTimes& program : programs) {
    for (const StepTime& step : program.steps) {
      longest = std::max(longest, step.report.label().size());
      slowest = std::max(slowest, step.seconds);
    }
  }
  const double left = kMargin + kCharacterWidth * static_cast<double>(std::min(longest, kLongest) + 5) + 8;
  const double widest = kWidth - left - kFigures;
  Svg svg(kWidth);
  svg.text(kMargin, 26, "start", shortened(title, 100), 16, " font-weight=\"bold\"");
  double top = 40;
  for (const ProgramTimes& program : programs) {
    svg.text(kMargin, top + 18, "start",
             shortened(name_of(program), 100) + ": " + number(1e9 * program.total()) + " ns", 13,
             " font-weight=\"bold\"");
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const StepTime& step = program.steps[i];
      const double y = top + kHead + kRow * static_cast<double>(i) - 12;
      const double length = slowest == 0 ? 0 : widest * step.seconds / slowest;
      svg.text(left - 8, y + 15, "end",
               shortened(std::to_string(i) + " " + step.report.label(), kLongest + 4), 11);
      svg.bar(left, y + 3, length, kRow - 6, "#3b6ea5");
      svg.text(left + length + 6, y + 15, "start",
               number(1e9 * step.seconds) + " ns, " +
                   number(program.total() == 0 ? 0 : 100 * step.seconds / program.total(), 1) + " %",
               11);
    }
    top += kHead + kRow * static_cast<double>(program.steps.size());
  }
  return svg.finish(top + kMargin);
}

}  // namespace sr::tool
