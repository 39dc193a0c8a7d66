#include "step_times.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <utility>

#include "statistics.hpp"
#include "svg.hpp"
#include "text_table.hpp"

namespace sr::tool {
namespace {

using Clock = std::chrono::steady_clock;

// The time that an empty step seems to take.
double seconds_of_clock() {
  std::vector<double> samples;
  for (int round = 0; round < 15; ++round) {
    constexpr int kReadings = 1000;
    double sum = 0;
    for (int i = 0; i < kReadings; ++i) {
      const Clock::time_point begin = Clock::now(), end = Clock::now();
      sum += std::chrono::duration<double>(end - begin).count();
    }
    samples.push_back(sum / kReadings);
  }
  return median(samples);
}

// Calls with every set in turn until the time is up, each set once at least.
void call(Runner& runner, const std::vector<ArgumentList>& sets, double seconds) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  do {
    for (std::size_t i = 0; i < sets.size(); ++i) runner.run(ArgumentList(sets[i]), i);
  } while (Clock::now() < end);
}

}  // namespace

double ProgramTimes::total() const {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const StepTime& step) { return sum + step.seconds; });
}

std::string label_of(const StepReport& step) {
  std::string text = step.kind;
  for (std::size_t i = 0; i < step.ops.size(); ++i) text += (i == 0 ? ": " : ", ") + step.ops[i];
  return text;
}

std::vector<ProgramTimes> time_steps(Runner& runner, const std::vector<ArgumentList>& sets, double seconds) {
  constexpr int kRounds = 15;
  for (const ArgumentList& set : sets) runner.reserve(set);
  const double clock = seconds_of_clock();
  std::vector<ProgramTimes> programs;
  std::vector<std::vector<std::vector<double>>> samples;  // by program, step and round
  for (int round = 0; round < kRounds; ++round) {
    runner.time_steps(true);
    call(runner, sets, seconds / kRounds);
    const Report report = runner.report().value();
    runner.time_steps(false);
    std::size_t used = 0;
    for (const PlanReport& plan : report.plans) {
      if (plan.timed_replays == 0) continue;
      if (used == programs.size()) {
        ProgramTimes& program = programs.emplace_back(ProgramTimes{plan.arguments, {}});
        for (const StepReport& step : plan.steps) program.steps.push_back({label_of(step)});
        samples.emplace_back(plan.steps.size());
      }
      for (std::size_t i = 0; i < plan.steps.size() && i < samples[used].size(); ++i)
        samples[used][i].push_back(std::max(0.0, plan.steps[i].seconds - clock));
      ++used;
    }
  }
  for (std::size_t p = 0; p < programs.size(); ++p) {
    for (std::size_t i = 0; i < programs[p].steps.size(); ++i)
      programs[p].steps[i].seconds = median(samples[p][i]);
  }
  return programs;
}

void print_steps(std::ostream& out, const std::vector<ProgramTimes>& programs) {
  for (const ProgramTimes& program : programs) {
    const double total = program.total();
    out << "\nSteps of the replay of (" << program.arguments << "), " << number(1e9 * total)
        << " ns together (the rest of a call is finding the program and making the results):\n";
    std::vector<std::vector<std::string>> rows{{"ns", "share", "  step"}};
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const StepTime& step = program.steps[i];
      rows.push_back({number(1e9 * step.seconds, step.seconds < 1e-7 ? 1 : 0),
                      number(total == 0 ? 0 : 100 * step.seconds / total, 1) + " %",
                      "  [" + std::to_string(i) + "] " + step.label});
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
      steps.push_back({{"step", step.label}, {"ns", 1e9 * step.seconds}});
    all.push_back(
        {{"arguments", program.arguments}, {"ns", 1e9 * program.total()}, {"steps", std::move(steps)}});
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
      longest = std::max(longest, step.label.size());
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
             shortened("replay of (" + program.arguments + ")", 100) + ": " + number(1e9 * program.total()) +
                 " ns",
             13, " font-weight=\"bold\"");
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const StepTime& step = program.steps[i];
      const double y = top + kHead + kRow * static_cast<double>(i) - 12;
      const double length = slowest == 0 ? 0 : widest * step.seconds / slowest;
      svg.text(left - 8, y + 15, "end", shortened(std::to_string(i) + " " + step.label, kLongest + 4), 11);
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
