// The options of sr tune.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "../verbs/tune/tune.hpp"
#include "inputs.hpp"
#include "validators.hpp"

namespace sr::tool {

inline void add_tune(CLI::App& tool, TuneOptions& options) {
  CLI::App* app = tool.add_subcommand(
      "tune", "Time a model with several numbers of threads, callers and rows, and recommend some");
  CLI::Option* model = app->add_option("model", options.model, "File of torch.jit.save or torch.export.save")
                           ->type_name("MODEL.pt");
  CLI::Option* mm =
      app->add_option("--mm", options.mm, "Tune the product of two N x N matrices in place of a model")
          ->type_name("N")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16))
          ->excludes(model);
  add_inputs(*app, options.inputs);
  const auto add_counts = [&](const char* name, auto& counts, const char* help) {
    return app->add_option(name, counts, help)->type_name("N,N,...")->delimiter(',')->allow_extra_args(false);
  };
  add_counts("--threads", options.threads, "Threads inside an operator (default: from 1 to all processors)")
      ->check(CLI::Range(1, 4096));
  add_counts("--concurrency", options.concurrency,
             "Concurrent callers of one RuntimePool (default: from 1 to all processors; 1 with --mm)")
      ->check(CLI::Range(1, 4096));
  add_counts("--batch", options.batch, "Rows of dimension 0; the rule is below")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32))
      ->excludes(mm);
  add_planner(*app, options.planner);
  app->add_option("--seconds", options.seconds, "Time for each setting")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app->add_option("--p99-us", options.p99_us,
                  "Recommend the highest throughput whose p99 latency is at most X microseconds")
      ->type_name("X")
      ->check(CLI::PositiveNumber);
  app->add_option("--json", options.json, "Write all figures")->type_name("FILE");
  app->add_option("--plot", options.plot, "Draw latency and throughput against the number of threads")
      ->type_name("FILE.svg")
      ->check(CLI::Validator(
          [](const std::string& name) {
            return name.ends_with(".svg") ? "" : "A plot can be written as .svg, not as '" + name + "'.";
          },
          ""));
  app->parse_complete_callback([app, model, mm] {
    if (model->count() + mm->count() == 0) throw CLI::ValidationError("Give sr tune a model file, or --mm N");
  });
  app->footer(
      "--batch B gives every tensor argument whose dimension 0 is as long as that of the first argument B "
      "rows: those it has,\nrepeated in turn or left out from the end. Other arguments stay as they are.\n"
      "Every setting is timed in three rounds, the callers calling one after the other without a pause.\n"
      "Example: sr tune model.pt --shape \"f32[8,64]\" --batch 1,8,32 --p99-us 500 --plot tuning.svg");
}

}  // namespace sr::tool
