// The options of sr bench.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../verbs/bench.hpp"
#include "inputs.hpp"
#include "validators.hpp"

namespace sr::tool {

inline std::vector<std::string> rivals() {
  std::vector<std::string> names{"interpreter", "upstream"};
  names.insert(names.end(), python_rivals().begin(), python_rivals().end());
  return names;
}

// Moves the rivals that are called from Python out of `names`.
inline std::vector<std::string> take_python_rivals(std::vector<std::string>& names) {
  const auto is_ours = [](const std::string& name) {
    return std::ranges::find(python_rivals(), name) == python_rivals().end();
  };
  const auto taken = std::stable_partition(names.begin(), names.end(), is_ours);
  std::vector<std::string> moved(taken, names.end());
  names.erase(taken, names.end());
  return moved;
}

inline void add_bench(CLI::App& tool, BenchOptions& options, bool& no_replay) {
  CLI::App* app = tool.add_subcommand("bench", "Time models, compare with LibTorch, check the results");
  app->add_option("models", options.models, "Files of torch.jit.save or torch.export.save")
      ->required()
      ->type_name("MODEL.pt");
  add_inputs_and_open_size(*app, options.inputs);
  app->add_option("--planner", options.planners, planner_help() + "; several with commas")
      ->delimiter(',')
      ->check(planner_name())
      ->allow_extra_args(false)
      ->capture_default_str();
  app->add_option("--against", options.against,
                  "Also time LibTorch's interpreter, upstream (its Static Runtime); and, where python3 or "
                  "SR_PYTHON has them, eager, onnxruntime, openvino: called from Python, beside sr")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of("rival", rivals()));
  app->add_option("--threads", options.threads, "Threads inside an operator")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app->add_option("--interop-threads", options.interop_threads,
                  "Threads that forked bodies run on (default: LibTorch's number)")
      ->check(CLI::Range(1, 4096));
  app->add_option("--concurrency", options.concurrency, "Callers at once, each with its own runtime")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app->add_option("--warmup", options.warmup, "Calls before timing (50, or half a second of them)")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* iters =
      app->add_option("--iters", options.iters, "Timed calls of each runner; repeated in batches")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  app->add_option("--seconds", options.seconds, "Time for each runner")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str()
      ->excludes(iters);
  CLI::Option* rate =
      app->add_option("--rate", options.load.rate,
                      "Open loop: calls that arrive per second, independent of earlier calls. "
                      "--concurrency callers serve them; latency counts from the intended arrival")
          ->type_name("R")
          ->check(CLI::Range(1e-3, 1e9));
  app->add_flag("--poisson", options.load.poisson, "With --rate: exponential gaps, by --seed")->needs(rate);
  app->add_option("--outputs", options.outputs,
                  "fresh: new tensors; managed: tensors that the runtime reuses; into: buffers of the "
                  "caller; bound: buffers and arguments that stay the same")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of("kind of outputs", {"fresh", "managed", "into", "bound"}))
      ->capture_default_str();
  app->add_flag("--no-replay", no_replay, "General path only");
  CLI::Option* ops = app->add_flag("--ops", options.ops,
                                   "Time each step of the replays, or each node if calls are not replayed "
                                   "(--no-replay), with the first planner");
  app->add_option("--ops-plot", options.ops_picture, "With --ops: draw the times of the steps")
      ->type_name("FILE.svg")
      ->needs(ops);
  app->add_option("--json", options.json, "Write all figures")->type_name("FILE");
  app->footer(
      "Results are compared with the interpreter's; the exit code is 3 if sr's differ.\n"
      "Example: sr bench model.pt --inputs inputs.pt --planner linear_scan,no_reuse --against "
      "interpreter,upstream");
}

}  // namespace sr::tool
