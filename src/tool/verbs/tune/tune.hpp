// `sr tune`: measures a model with several numbers of threads, callers and rows, and recommends some.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "../run.hpp"
#include "tune_point.hpp"

namespace sr::tool {

struct TuneOptions {
  std::string model;    // empty: a product of matrices
  std::int64_t mm = 0;  // rows and columns of both
  InputOptions inputs;
  std::string planner = "linear_scan";
  std::vector<int> threads;         // empty: counts_to_try
  std::vector<int> concurrency;     // callers; empty: counts_to_try, of a product one
  std::vector<std::int64_t> batch;  // empty: the arguments as they are
  double seconds = 0.6;             // for each setting
  double p99_us = 0;                // the goal; 0: throughput
  std::string json, plot;           // files to write; empty: none
  std::string version, command_line;
};

// Returns the exit code of the program.
int tune(const TuneOptions& options);

// The table and the recommendation (tune_report.cpp).
void print_tuning(std::ostream& out, const Tuning& tuning, const TuneOptions& options);
std::string tuning_json(const Tuning& tuning, const TuneOptions& options);

}  // namespace sr::tool
