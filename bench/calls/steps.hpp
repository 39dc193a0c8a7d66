// What bench_steps measures besides arithmetic: steps, look-ups of programs, recordings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/memory/linear_scan.hpp>
#include <sr/static_runtime.hpp>

namespace sr::bench {

using Runtime = StaticRuntime<memory::LinearScan>;
using Inputs = std::vector<c10::IValue>;

struct StepsOptions {
  int rounds = 50;
  double slice_ms = 0.5;
};

inline torch::jit::Module module_of(const std::string& forward) {
  torch::jit::Module module("Program");
  module.define(forward);
  return module;
}

inline StaticModule sr_module(const torch::jit::Module& module, bool replay) {
  StaticModuleOptions options;
  options.debug.enable_replay = replay;
  return StaticModule(module, options);
}

// Calls with that many arguments without making a vector for them.
inline void call(Runtime& runtime, const Inputs& inputs) {
  switch (inputs.size()) {
    case 1:
      runtime(inputs[0]);
      break;
    case 2:
      runtime(inputs[0], inputs[1]);
      break;
    default:
      runtime(inputs[0], inputs[1], inputs[2]);
  }
}

// The time of a step: the slope over the number of steps (steps.cpp).
void time_steps(const StepsOptions& options);

// Changing shapes: a few in turn, a new one in each call, and the cost of recording (plans.cpp).
void time_plans(const StepsOptions& options);

}  // namespace sr::bench
