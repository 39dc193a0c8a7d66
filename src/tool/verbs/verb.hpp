// What a command line asks for.
#pragma once

#include <variant>

#include "../../serve/options.hpp"
#include "bench.hpp"
#include "info.hpp"
#include "inspect.hpp"
#include "ops.hpp"
#include "quantize.hpp"
#include "report.hpp"
#include "run.hpp"
#include "tune/tune.hpp"

namespace sr::tool {

using Verb = std::variant<RunOptions, BenchOptions, InspectOptions, OpsOptions, InfoOptions, TuneOptions,
                          QuantizeVerbOptions, ReportOptions, serve::ServeOptions>;

// Reads the command line: a verb to do, or the exit code when all is said (help, version, wrong usage). Needs
// no LibTorch.
std::variant<Verb, int> parse(int argc, char** argv);

inline constexpr int kError = 1, kUsage = 2;  // exit codes

}  // namespace sr::tool
