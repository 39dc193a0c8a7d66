// How long each step of a replay takes, as `sr bench --ops` shows it.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runner.hpp"

namespace sr::tool {

// One step, with the operators that are fused into it.
struct StepTime {
  std::string label;   // "packed gemm: aten::linear, aten::relu"
  double seconds = 0;  // median over rounds of the means of each, without the reading of the clock
};

// The steps of one program in the order of execution.
struct ProgramTimes {
  std::string arguments;  // "Float[4, 64]"
  std::vector<StepTime> steps;

  double total() const;
};

// Times the steps of the programs that answer `sets`, for about that long in all. Empty where no call is
// replayed.
std::vector<ProgramTimes> time_steps(Runner& runner, const std::vector<ArgumentList>& sets, double seconds);

// "packed gemm: aten::linear, aten::relu"
std::string label_of(const StepReport& step);

void print_steps(std::ostream& out, const std::vector<ProgramTimes>& programs);
nlohmann::ordered_json steps_json(const std::vector<ProgramTimes>& programs);
// Bars to scale, a panel for each program.
std::string steps_svg(const std::vector<ProgramTimes>& programs, const std::string& title);

}  // namespace sr::tool
