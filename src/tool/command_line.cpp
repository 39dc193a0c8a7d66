// The command line: sr run, sr bench, sr inspect, sr report, sr quantize, sr tune, sr ops, sr info.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <torch/version.h>

#include <sr/memory/planners.hpp>
#include <sr/version.hpp>

#include "verbs/verb.hpp"

namespace sr::tool {

namespace {

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

// Also infinity, which CLI::PositiveNumber refuses.
CLI::Validator positive() {
  return {[](const std::string& given) {
            double value = 0;
            const bool is_positive = CLI::detail::lexical_cast(given, value) && value > 0;
            return is_positive ? std::string() : "'" + given + "' is not a positive number.";
          },
          "POSITIVE"};
}

CLI::Validator planner_name() {
  const auto& names = memory::planner_names();
  return one_of("planner", {names.begin(), names.end()});
}

std::string planner_help() {
  return "Memory planner: " + joined(memory::planner_names());
}

// For programs of torch.export, whose signature tells the other sizes.
void add_open_size(CLI::App& app, InputOptions& inputs) {
  app.add_option(
         "--batch", inputs.open_size,
         "Value of the sizes that an exported program leaves open (Dim), without --inputs and --shape")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 32))
      ->capture_default_str()
      ->excludes("--inputs")
      ->excludes("--shape");
}

void add_inputs(CLI::App& app, InputOptions& inputs) {
  CLI::Option* file = app.add_option("--inputs", inputs.file,
                                     "File of torch.save (a list of positional arguments, or a list of "
                                     "argument lists), or .npy or .npz of NumPy")
                          ->type_name("FILE");
  app.add_option(
         "--shape", inputs.shapes,
         "Random argument; repeat it for each argument: \"f32[8,50]\", \"i64[8]:0..999\", int:5, float:0.5, "
         "bool:true, none")
      ->type_name("SPEC")
      ->allow_extra_args(false)
      ->take_all()
      ->excludes(file);
  CLI::Option* stream =
      app.add_option(
             "--stream", inputs.streams,
             "Sizes that vary: \"f32[n,50]\" with uniform:1..256, zipf:1..256, once:1..256 or list:1,8,32 "
             "for n; with n= in front if there are several")
          ->type_name("SIZES")
          ->allow_extra_args(false)
          ->take_all()
          ->excludes(file);
  app.add_option("--stream-calls", inputs.stream_calls, "Input sets that are drawn from the streams")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str()
      ->needs(stream);
  app.add_option("--seed", inputs.seed, "Seed of random arguments, and of streams")->capture_default_str();
}

void add_run(CLI::App& tool, RunOptions& options) {
  CLI::App* app = tool.add_subcommand("run", "Run a model and print or write what it returns");
  app->add_option("model", options.model, "File of torch.jit.save or torch.export.save")
      ->required()
      ->type_name("MODEL.pt");
  add_inputs(*app, options.inputs);
  add_open_size(*app, options.inputs);
  app->add_option("--output", options.output,
                  "Write a list with one result for each input set, for torch.load")
      ->type_name("FILE");
  app->add_option("--planner", options.planner, planner_help())->check(planner_name())->capture_default_str();
  app->add_flag("--strict", options.strict,
                "Refuse a model that needs LibTorch's interpreter for an operator");
  app->add_option("--repeat", options.repeat, "Number of times to run all input sets")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app->footer(
      "Example: sr run model.pt --shape \"f32[8,1,32]\" --shape \"f32[8,1,32]\" --shape \"f32[8,50]\"");
}

std::vector<std::string> rivals() {
  std::vector<std::string> names{"interpreter", "upstream"};
  names.insert(names.end(), python_rivals().begin(), python_rivals().end());
  return names;
}

// Moves the rivals that are called from Python out of `names`.
std::vector<std::string> take_python_rivals(std::vector<std::string>& names) {
  const auto is_ours = [](const std::string& name) {
    return std::ranges::find(python_rivals(), name) == python_rivals().end();
  };
  const auto taken = std::stable_partition(names.begin(), names.end(), is_ours);
  std::vector<std::string> moved(taken, names.end());
  names.erase(taken, names.end());
  return moved;
}

void add_bench(CLI::App& tool, BenchOptions& options, bool& no_replay) {
  CLI::App* app = tool.add_subcommand("bench", "Time models, compare with LibTorch, check the results");
  app->add_option("models", options.models, "Files of torch.jit.save or torch.export.save")
      ->required()
      ->type_name("MODEL.pt");
  add_inputs(*app, options.inputs);
  add_open_size(*app, options.inputs);
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

void add_inspect(CLI::App& tool, InspectOptions& options) {
  CLI::App* app = tool.add_subcommand("inspect", "Show how sr runs a model: paths, memory, graph");
  app->add_option("model", options.model, "File of torch.jit.save or torch.export.save")
      ->required()
      ->type_name("MODEL.pt");
  add_inputs(*app, options.inputs);
  add_open_size(*app, options.inputs);
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

void add_report(CLI::App& tool, ReportOptions& options) {
  CLI::App* app = tool.add_subcommand(
      "report", "Write an HTML page about a model: latencies, times of steps, memory, interpreted nodes");
  app->add_option("model", options.model, "File of torch.jit.save or torch.export.save")
      ->required()
      ->type_name("MODEL.pt");
  add_inputs(*app, options.inputs);
  add_open_size(*app, options.inputs);
  app->add_option("--html", options.html, "File to write; it needs no other file")
      ->required()
      ->type_name("FILE.html");
  app->add_option("--planner", options.planner, planner_help())->check(planner_name())->capture_default_str();
  app->add_option("--seconds", options.seconds, "Time of calls")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app->footer("Example: sr report model.pt2 --batch 8 --html model.html");
}

void add_ops(CLI::App& tool, OpsOptions& options) {
  CLI::App* app = tool.add_subcommand("ops", "List the operators that sr runs itself, and how");
  CLI::Option* json = app->add_flag("--json", options.json, "Print JSON, with the full names of functors");
  app->add_flag("--markdown", options.markdown, "Print the table of docs/reference/operators.md")
      ->excludes(json);
  app->footer("Example: sr ops | grep upsample");
}

void add_info(CLI::App& tool, InfoOptions& options) {
  CLI::App* app = tool.add_subcommand("info", "Show versions, threads, kernels and environment variables");
  app->add_flag("--json", options.json, "Print JSON");
}

void add_tune(CLI::App& tool, TuneOptions& options) {
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
  app->add_option("--planner", options.planner, planner_help())->check(planner_name())->capture_default_str();
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

void add_quantize(CLI::App& tool, QuantizeVerbOptions& options) {
  CLI::App* app =
      tool.add_subcommand("quantize", "Write a model with its linear layers in int8, where that is faster");
  app->add_option("model", options.model, "File of torch.jit.save or torch.export.save")
      ->required()
      ->type_name("MODEL.pt");
  app->add_option("output", options.output, "TorchScript file to write")->required()->type_name("OUTPUT.pt");
  add_inputs(*app, options.inputs);
  add_open_size(*app, options.inputs);
  app->add_option("--max-layer-error", options.max_layer_error,
                  "A layer with a larger error, as a share of its result, stays in float")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--max-time-ratio", options.max_time_ratio,
                  "A layer that takes more of its float time stays in float; inf: times are not measured")
      ->check(positive())
      ->capture_default_str();
  app->add_flag("--tables", options.tables, "Tables of embeddings become bytes, too");
  app->add_option("--min-cosine", options.min_cosine,
                  "Refuse the model if a result has a smaller cosine to the float model's")
      ->check(CLI::Range(-1.0, 1.0))
      ->capture_default_str();
  app->add_option("--max-difference", options.max_difference,
                  "Refuse the model if an element of a result differs by more")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--json", options.json, "Write all figures")->type_name("FILE");
  app->footer("Example: sr quantize model.pt int8.pt --inputs inputs.pt --min-cosine 0.999");
}

std::string command_line(int argc, char** argv) {
  std::string text = argv[0];
  for (int i = 1; i < argc; ++i) text.append(" ").append(argv[i]);
  return text;
}

}  // namespace

std::variant<Verb, int> parse(int argc, char** argv) {
  CLI::App tool("Runs TorchScript models on the CPU with planned memory.", "sr");
  tool.set_version_flag("--version", "sr " SR_VERSION " on LibTorch " TORCH_VERSION);
  tool.require_subcommand(1);
  tool.footer(
      "sr VERB --help tells more. Exit codes: 0 done, 1 error, 2 wrong usage, 3 a result differs (bench).");
  RunOptions run;
  BenchOptions bench;
  InspectOptions inspect;
  OpsOptions ops;
  InfoOptions info;
  TuneOptions tune;
  QuantizeVerbOptions quantize;
  ReportOptions report;
  bool no_replay = false;
  add_run(tool, run);
  add_bench(tool, bench, no_replay);
  add_inspect(tool, inspect);
  add_ops(tool, ops);
  add_info(tool, info);
  add_tune(tool, tune);
  add_quantize(tool, quantize);
  add_report(tool, report);
  try {
    tool.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return tool.exit(error);  // --help, --version
    std::string message = error.what();
    const std::string first = argc > 1 ? argv[1] : "";
    if (!first.starts_with("-") && !first.empty() && tool.get_subcommands().empty()) {
      message = "There is no verb '" + first +
                "'; there are run, bench, inspect, report, quantize, tune, ops, info";
    }
    std::cerr << "sr: " << message << (message.ends_with('.') ? "" : ".") << " Try --help.\n";
    return kUsage;
  }
  if (tool.got_subcommand("run")) return Verb(run);
  if (tool.got_subcommand("inspect")) return Verb(inspect);
  if (tool.got_subcommand("quantize")) return Verb(quantize);
  if (tool.got_subcommand("report")) return Verb(report);
  if (tool.got_subcommand("ops")) return Verb(ops);
  if (tool.got_subcommand("info")) {
    info.version = SR_VERSION;
    return Verb(info);
  }
  if (tool.got_subcommand("tune")) {
    tune.version = SR_VERSION;
    tune.command_line = command_line(argc, argv);
    return Verb(tune);
  }
  bench.replay = !no_replay;
  bench.python_rivals = take_python_rivals(bench.against);
  if (bench.load.rate > 0 && !bench.python_rivals.empty()) {
    std::cerr << "sr: --rate offers a load to callers of C++, and " << bench.python_rivals[0]
              << " is called from Python. Try --help.\n";
    return kUsage;
  }
  bench.load.seed = bench.inputs.seed;
  bench.version = SR_VERSION;
  bench.command_line = command_line(argc, argv);
  return Verb(bench);
}

}  // namespace sr::tool
