// Settings and results of bench_suite.
#pragma once

#include <string>
#include <vector>

#include "models.hpp"

namespace sr::bench {

struct SuiteOptions {
  std::string filter;
  int rounds = 50;
  double slice_ms = 1;
  std::string csv, json, record;
  int threads = 1;
  bool list = false;
};

struct Measured {
  std::string model;
  std::vector<std::string> rivals;
  std::vector<std::vector<double>> times;  // by rival and round, in nanoseconds a call
};

// Calls a second of several threads, each with its own runtime on a shared module, relative to one
// thread (threads.cpp).
void run_threads(const std::vector<Model>& models, const SuiteOptions& options);

// Writes the lifetimes of each model's planned tensors to DIRECTORY/NAME.csv (record.cpp).
void record_plans(const std::vector<Model>& models, const std::string& directory);

}  // namespace sr::bench
