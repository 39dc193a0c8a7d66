// The command line: sr run, sr bench, sr inspect, sr report, sr quantize, sr tune, sr ops, sr info, sr
// serve.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <variant>

#include <torch/version.h>

#include <sr/version.hpp>

#include "arguments/bench.hpp"
#include "arguments/inputs.hpp"
#include "arguments/tune.hpp"
#include "arguments/validators.hpp"
#include "verbs/verb.hpp"

namespace sr::tool {

namespace {

void add_run(CLI::App& tool, RunOptions& options) {
  CLI::App* app = tool.add_subcommand("run", "Run a model and print or write what it returns");
  add_model(*app, options.model);
  add_inputs_and_open_size(*app, options.inputs);
  app->add_option("--output", options.output,
                  "Write a list with one result for each input set, for torch.load")
      ->type_name("FILE");
  add_planner(*app, options.planner);
  app->add_flag("--strict", options.strict,
                "Refuse a model that needs LibTorch's interpreter for an operator");
  app->add_option("--repeat", options.repeat, "Number of times to run all input sets")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  app->add_flag("--timings", options.timings,
                "Print how long each part took: loading, preparing, and each call of the first input set");
  app->footer(
      "Example: sr run model.pt --shape \"f32[8,1,32]\" --shape \"f32[8,1,32]\" --shape \"f32[8,50]\"");
}

void add_inspect(CLI::App& tool, InspectOptions& options) {
  CLI::App* app = tool.add_subcommand("inspect", "Show how sr runs a model: paths, memory, graph");
  add_model(*app, options.model);
  add_inputs_and_open_size(*app, options.inputs);
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
  add_planner(*app, options.planner);
  app->footer("Example: sr inspect model.pt --shape \"f32[8,64]\" --plan plan.svg");
}

void add_report(CLI::App& tool, ReportOptions& options) {
  CLI::App* app = tool.add_subcommand(
      "report", "Write an HTML page about a model: latencies, times of steps, memory, interpreted nodes");
  add_model(*app, options.model);
  add_inputs_and_open_size(*app, options.inputs);
  app->add_option("--html", options.html, "File to write; it needs no other file")
      ->required()
      ->type_name("FILE.html");
  add_planner(*app, options.planner);
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

void add_quantize(CLI::App& tool, QuantizeVerbOptions& options) {
  CLI::App* app = tool.add_subcommand(
      "quantize", "Write a model with its linear layers in 8 or 4 bits, where that is faster");
  add_model(*app, options.model);
  app->add_option("output", options.output, "TorchScript file to write")->required()->type_name("OUTPUT.pt");
  add_inputs_and_open_size(*app, options.inputs);
  app->add_option("--bits", options.bits, "Bits of the weights of linear layers")
      ->check(CLI::IsMember({8, 4}))
      ->capture_default_str();
  app->add_option("--group", options.group,
                  "Elements of an output's weight that share a scale, a multiple of 8; 0: all with 8 bits, "
                  "32 with 4")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--max-layer-error", options.max_layer_error,
                  "A layer with a larger error, as a share of its result, stays in float [0.05; with 4 bits "
                  "0.15]")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--max-time-ratio", options.max_time_ratio,
                  "A layer that takes more of its float time stays in float; inf: times are not measured")
      ->check(positive())
      ->capture_default_str();
  app->add_flag("--tables", options.tables, "Tables of embeddings become bytes, too");
  app->add_flag("--recurrent", options.recurrent,
                "Weights of recurrent networks become int8, too, and are multiplied as floats");
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

void add_serve(CLI::App& tool, serve::ServeOptions& options) {
  CLI::App* app =
      tool.add_subcommand("serve", "Answer requests of the Open Inference Protocol (v2) by HTTP and gRPC");
  app->add_option("models", options.models, "Models to serve: FILE, or NAME=FILE")->type_name("[NAME=]FILE");
  app->add_option("--models", options.folder, "Folder with a JSON file for each model")->type_name("FOLDER");
  app->add_flag("--batching", options.batching,
                "Join requests to batches. The rows of the models must not depend on each other");
  app->add_option("--host", options.host, "Address to listen at; 0.0.0.0 for all")->capture_default_str();
  const auto port = CLI::Range(-1, 65535);
  app->add_option("--http-port", options.http_port, "Port of HTTP/1.1; 0: any, -1: none")
      ->check(port)
      ->capture_default_str();
  app->add_option("--grpc-port", options.grpc_port, "Port of gRPC; 0: any, -1: none")
      ->check(port)
      ->capture_default_str();
  app->add_option("--unix", options.unix_socket, "Unix socket of HTTP, besides the ports")->type_name("PATH");
  app->add_option("--threads", options.threads, "Threads that answer requests; 0: one for each processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_option(
         "--spin", options.spin,
         "Microseconds of polling for the next HTTP request before the thread sleeps; only with --threads 1")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app->add_option("--certificate", options.certificate, "PEM file of a certificate: both ports use TLS")
      ->type_name("FILE");
  app->add_option("--key", options.key, "PEM file of its key")->type_name("FILE");
  app->add_option("--token-file", options.token_file, "File with a token that requests must bear")
      ->type_name("FILE");
  app->add_option("--traces", options.traces, "File for spans of requests with a sampled traceparent")
      ->type_name("FILE");
  app->add_option("--max-body", options.max_body, "Most bytes of a request")
      ->check(CLI::Range(std::size_t{1024}, std::size_t{1} << 34))
      ->capture_default_str();
  app->add_option("--max-connections", options.max_connections, "Most connections of HTTP")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app->add_option("--idle-timeout", options.idle_timeout,
                  "Seconds that a client may take for a request, or between two")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app->add_option("--drain-timeout", options.drain_timeout,
                  "Seconds that running requests have after SIGTERM")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  app->footer("Example: sr serve ranking=model.pt2");
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
  serve::ServeOptions serve;
  bool no_replay = false;
  add_run(tool, run);
  add_bench(tool, bench, no_replay);
  add_inspect(tool, inspect);
  add_ops(tool, ops);
  add_info(tool, info);
  add_tune(tool, tune);
  add_quantize(tool, quantize);
  add_report(tool, report);
  add_serve(tool, serve);
  try {
    tool.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return tool.exit(error);  // --help, --version
    std::string message = error.what();
    const std::string first = argc > 1 ? argv[1] : "";
    if (!first.starts_with("-") && !first.empty() && tool.get_subcommands().empty()) {
      message = "There is no verb '" + first +
                "'; there are run, bench, inspect, report, quantize, tune, ops, info, serve";
    }
    std::cerr << "sr: " << message << (message.ends_with('.') ? "" : ".") << " Try --help.\n";
    return kUsage;
  }
  if (tool.got_subcommand("run")) return Verb(run);
  if (tool.got_subcommand("inspect")) return Verb(inspect);
  if (tool.got_subcommand("quantize")) return Verb(quantize);
  if (tool.got_subcommand("report")) return Verb(report);
  if (tool.got_subcommand("serve")) return Verb(serve);
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
