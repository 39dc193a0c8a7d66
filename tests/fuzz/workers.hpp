// Checks programs in child processes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/processes.hpp"
#include "fuzz/program.hpp"

namespace sr::fuzz {

struct Settings {
  std::uint64_t count = 1000, seed = 1, first = 0;
  std::string save = "build/fuzz", configuration;
  int jobs = 1;  // 0: all in this process
  Theme theme = Theme::any;
  std::vector<std::string> ignored = {};
  bool verbose = false;
};

struct Tally {
  std::uint64_t not_compiled = 0;
  Counts counts = {};
  std::array<std::uint64_t, kFeatureCount> features = {};

  Tally& operator+=(const Tally& part);
};

// The result of `check` in another process; a signal there is a failure of kind "crash".
Verdict isolated_check(const Case& program, const std::vector<std::string>& configurations,
                       const CheckOptions& options);
// Checks the programs, shrinks and saves failing ones, and prints failures as they occur.
Progress run_all(const Settings& settings, Tally& total);

}  // namespace sr::fuzz
