// The command line tool: sr run, sr bench, sr inspect, sr ops.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/version.h>

#include <sr/memory/planners.hpp>

#include "bench.hpp"
#include "inspect.hpp"
#include "ops.hpp"
#include "run.hpp"

namespace {

constexpr int kError = 1;
constexpr int kUsage = 2;

std::string joined(const auto& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// Accepts one of `names`, and says which there are.
CLI::Validator one_of(const std::string& what, const std::vector<std::string>& names) {
  return {[what, names](const std::string& given) {
            if (std::ranges::find(names, given) != names.end()) return std::string();
            return "There is no " + what + " called '" + given + "'; there are " + joined(names) + ".";
          },
          ""};
}

CLI::Validator planner_name() {
  const auto& names = sr::memory::planner_names();
  return one_of("planner", {names.begin(), names.end()});
}

std::string planner_help() {
  return "Memory planner: " + joined(sr::memory::planner_names());
}

void add_inputs(CLI::App& app, sr::tool::InputOptions& inputs) {
  CLI::Option* file =
      app.add_option("--inputs", inputs.file,
                     "File of torch.save: a list of positional arguments, or a list of such lists")
          ->type_name("FILE");
  app.add_option("--shape", inputs.shapes,
                 "Random argument, once for each: \"f32[8,50]\", \"i64[8]:0..999\", int:5, float:0.5, "
                 "bool:true, none")
      ->type_name("SPEC")
      ->allow_extra_args(false)
      ->take_all()
      ->excludes(file);
  app.add_option("--seed", inputs.seed, "Seed of random arguments")->capture_default_str();
}

void add_run(CLI::App& tool, sr::tool::RunOptions& options) {
  CLI::App* app = tool.add_subcommand("run", "Run a model and print or write what it returns");
  app->add_option("model", options.model, "File of torch.jit.save")->required()->type_name("MODEL.pt");
  add_inputs(*app, options.inputs);
  app->add_option("--output", options.output,
                  "Write a list with one result for each input set, for torch.load")
      ->type_name("FILE");
  app->add_option("--planner", options.planner, planner_help())->check(planner_name())->capture_default_str();
  app->add_flag("--strict", options.strict,
                "Refuse a model that needs LibTorch's interpreter for an operator");
  app->add_option("--repeat", options.repeat, "Run all input sets that often")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app->footer(
      "Example: sr run model.pt --shape \"f32[8,1,32]\" --shape \"f32[8,1,32]\" --shape \"f32[8,50]\"");
}

void add_bench(CLI::App& tool, sr::tool::BenchOptions& options, bool& no_replay) {
  CLI::App* app = tool.add_subcommand("bench", "Time models, compare with LibTorch, check the results");
  app->add_option("models", options.models, "Files of torch.jit.save")->required()->type_name("MODEL.pt");
  add_inputs(*app, options.inputs);
  app->add_option("--planner", options.planners, planner_help() + "; several with commas")
      ->delimiter(',')
      ->check(planner_name())
      ->allow_extra_args(false)
      ->capture_default_str();
  app->add_option("--against", options.against,
                  "Also time LibTorch's interpreter, upstream (its Static Runtime)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of("rival", {"interpreter", "upstream"}));
  app->add_option("--threads", options.threads, "Threads inside an operator")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app->add_option("--concurrency", options.concurrency, "Callers at once, each with its own runtime")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app->add_option("--warmup", options.warmup, "Calls before timing (50, or half a second of them)")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* iters =
      app->add_option("--iters", options.iters, "Timed calls of each runner, and as many in batches")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  app->add_option("--seconds", options.seconds, "Time for each runner")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str()
      ->excludes(iters);
  app->add_option("--outputs", options.outputs,
                  "fresh: new tensors; managed: the runtime's own, used again; bound: buffers of the caller")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of("kind of outputs", {"fresh", "managed", "bound"}))
      ->capture_default_str();
  app->add_flag("--no-replay", no_replay, "General path only");
  app->add_flag("--ops", options.ops, "Time by node and by kind of node, on the first planner");
  app->add_option("--json", options.json, "Write all figures")->type_name("FILE");
  app->footer(
      "Results are compared with the interpreter's; the exit code is 3 if sr's differ.\n"
      "Example: sr bench model.pt --inputs inputs.pt --planner linear_scan,no_reuse --against "
      "interpreter,upstream");
}

void add_inspect(CLI::App& tool, sr::tool::InspectOptions& options) {
  CLI::App* app = tool.add_subcommand("inspect", "Show what sr makes of a model: paths, memory, graph");
  app->add_option("model", options.model, "File of torch.jit.save")->required()->type_name("MODEL.pt");
  add_inputs(*app, options.inputs);
  app->add_flag("--graph", options.graph, "Print the prepared graph");
  app->add_flag("--passes", options.passes, "Print what each pass changed while the graph was prepared");
  app->add_option("--without-pass", options.without_passes, "Leave a pass out; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_option("--plan", options.plan, "Write the memory plan: a picture (.svg) or its figures (.json)")
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](const std::string& name) {
            const bool known = name.ends_with(".svg") || name.ends_with(".json");
            return known ? std::string() : "A plan can be written as .svg or .json, not as '" + name + "'.";
          },
          ""));
  app->add_option("--planner", options.planner, planner_help())->check(planner_name())->capture_default_str();
  app->footer("Example: sr inspect model.pt --shape \"f32[8,64]\" --plan plan.svg");
}

void add_ops(CLI::App& tool, sr::tool::OpsOptions& options) {
  CLI::App* app = tool.add_subcommand("ops", "List the operators that sr runs itself, and how");
  CLI::Option* json = app->add_flag("--json", options.json, "As JSON, with the whole names of functors");
  app->add_flag("--markdown", options.markdown, "As docs/operators.md has it")->excludes(json);
  app->footer("Example: sr ops | grep upsample");
}

// The interpreter puts a traceback of many lines before the message: the last line says what happened.
int fail(std::string message) {
  while (!message.empty() && message.back() == '\n') message.pop_back();
  if (message.find("Traceback of TorchScript") != std::string::npos)
    message.erase(0, message.rfind('\n') + 1);
  std::cerr << "sr: " << message << '\n';
  return kError;
}

int dispatch(int argc, char** argv) {
  CLI::App tool("Runs TorchScript models on the CPU with planned memory.", "sr");
  tool.set_version_flag("--version", "sr " SR_VERSION " on LibTorch " TORCH_VERSION);
  tool.require_subcommand(1);
  tool.footer(
      "sr VERB --help tells more. Exit codes: 0 done, 1 error, 2 wrong usage, 3 a result differs (bench).");
  sr::tool::RunOptions run;
  sr::tool::BenchOptions bench;
  sr::tool::InspectOptions inspect;
  sr::tool::OpsOptions ops;
  bool no_replay = false;
  add_run(tool, run);
  add_bench(tool, bench, no_replay);
  add_inspect(tool, inspect);
  add_ops(tool, ops);
  try {
    tool.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return tool.exit(error);  // --help, --version
    std::string message = error.what();
    const std::string first = argc > 1 ? argv[1] : "";
    if (!first.starts_with("-") && !first.empty() && tool.get_subcommands().empty()) {
      message = "There is no verb '" + first + "'; there are run, bench, inspect, ops";
    }
    std::cerr << "sr: " << message << (message.ends_with('.') ? "" : ".") << " Try --help.\n";
    return kUsage;
  }
  if (tool.got_subcommand("run")) return sr::tool::run(run);
  if (tool.got_subcommand("inspect")) return sr::tool::inspect(inspect);
  if (tool.got_subcommand("ops")) return sr::tool::ops(ops);
  bench.replay = !no_replay;
  bench.version = SR_VERSION;
  bench.command_line = joined(std::vector<std::string>(argv, argv + 1));
  for (int i = 1; i < argc; ++i) bench.command_line.append(" ").append(argv[i]);
  return sr::tool::bench(bench);
}

}  // namespace

int main(int argc, char** argv) try { return dispatch(argc, argv); } catch (const c10::Error& error) {
  return fail(error.what_without_backtrace());
} catch (const std::exception& error) {
  return fail(error.what());
}
