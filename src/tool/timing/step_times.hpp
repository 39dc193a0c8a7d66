// How long each step of a replay takes, as `sr bench --ops` shows it.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <sr/profile.hpp>

#include "runner.hpp"

namespace sr::tool {

// Times the steps of the programs that answer `sets`, for about that long in all. Empty where no call is
// replayed.
std::vector<ProgramTimes> time_steps(Runner& runner, const std::vector<ArgumentList>& sets, double seconds);

void print_steps(std::ostream& out, const std::vector<ProgramTimes>& programs);
nlohmann::ordered_json steps_json(const std::vector<ProgramTimes>& programs);
// Bars to scale, a panel for each program.
std::string steps_svg(const std::vector<ProgramTimes>& programs, const std::string& title);

}  // namespace sr::tool
