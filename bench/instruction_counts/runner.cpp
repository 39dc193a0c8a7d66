// Runs one TorchScript model and its inputs in each runtime that has no statement to compile: the interpreter
// on the frozen model, upstream's Static Runtime, and sr.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/static/impl.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sr/executor/call_counters.hpp>
#include <sr/memory/linear_scan.hpp>
#include <sr/static_runtime.hpp>

#include "driver.hpp"
#include "inputs/inputs.hpp"

namespace sr::counts {
namespace {

using Inputs = tool::ArgumentList;
using Module = torch::jit::Module;
using Runtime = StaticRuntime<memory::LinearScan>;

void frozen(const Driver& driver, Module module, const Inputs& inputs) {
  module = torch::jit::freeze(module);
  module = torch::jit::optimize_for_inference(module);
  driver.run([&](std::int64_t times) {
    const c10::InferenceMode inference;
    for (std::int64_t i = 0; i < times; ++i) module.forward(inputs);
  });
}

void upstream(const Driver& driver, const Module& module, const Inputs& inputs) {
  torch::jit::StaticModule prepared(module, /*is_frozen=*/false);
  torch::jit::StaticRuntime runtime(prepared);
  driver.run([&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) runtime(inputs);
  });
}

// The number of arguments is known at compile time, as where a call is written.
void call_sr(const Driver& driver, const StaticModule& module, const Inputs& inputs) {
  Runtime runtime(module);
  const auto many = [&](const auto& call) {
    driver.run([&](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) call();
    });
  };
  switch (inputs.size()) {
    case 1:
      return many([&] { runtime(inputs[0]); });
    case 2:
      return many([&] { runtime(inputs[0], inputs[1]); });
    case 3:
      return many([&] { runtime(inputs[0], inputs[1], inputs[2]); });
    default:
      return many([&] { runtime(inputs); });
  }
}

StaticModule prepared(const Module& module, bool replay, bool managed) {
  StaticModuleOptions options;
  options.debug.enable_replay = replay;
  options.memory.manage_outputs = managed;
  options.weights.freeze = true;  // like sr::load: the module was read from a file, and has no other holder
  return StaticModule(module, options);
}

void into(const Driver& driver, const Module& module, const Inputs& inputs) {
  Runtime runtime(prepared(module, true, false));
  const std::vector<at::Tensor> outputs{at::empty_like(runtime(std::vector<c10::IValue>(inputs)).toTensor())};
  driver.run([&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) runtime.run_into(inputs, outputs);
  });
}

using Start = std::function<void(const Driver&, const Module&, const Inputs&)>;

Start sr_call(bool replay, bool managed) {
  return [=](const Driver& driver, const Module& module, const Inputs& inputs) {
    call_sr(driver, prepared(module, replay, managed), inputs);
  };
}

// The names of core/types.py.
const std::map<std::string, Start> kRuntimes{
    {"frozen", frozen},
    {"upstream", upstream},
    {"sr general", sr_call(/*replay=*/false, /*managed=*/false)},
    {"sr fresh", sr_call(true, false)},
    {"sr managed", sr_call(true, true)},
    {"sr into", into},
};

void run(const Driver& driver) {
  at::set_num_threads(driver.threads());
  const auto start = kRuntimes.find(driver.option("--runtime"));
  if (start == kRuntimes.end())
    throw std::runtime_error("there is no runtime '" + driver.option("--runtime") + "'");
  Module module = torch::jit::load(driver.option("--model"));
  module.eval();
  start->second(driver, module, tool::read_input_sets(driver.option("--inputs")).at(0));
}

}  // namespace
}  // namespace sr::counts

int main(int argc, char** argv) {
  // As a short call is timed outside of the simulator: one of about forty.
  if (RUNNING_ON_VALGRIND != 0) sr::detail::CallCounters::cost_of_timing() = 1'000'000'000;
  return sr::counts::drive(argc, argv, sr::counts::run);
}
