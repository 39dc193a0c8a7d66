// What the mains of the benchmark programs share.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

namespace sr::bench {

// Durations and repetitions; `what` says what a slice contains.
template <class Options>
void add_timing(CLI::App& app, Options& options, const std::string& what) {
  app.add_option("--rounds", options.rounds, "Interleaved rounds")->check(CLI::Range(1, 100000));
  app.add_option("--slice-ms", options.slice_ms, "How long " + what + " is timed in a round")
      ->check(CLI::Range(0.01, 1e4));
}

// Calls `run` after the options are read, and returns the result of main.
template <class Run>
int run_program(CLI::App& app, int argc, char** argv, const Run& run) {
  CLI11_PARSE(app, argc, argv);
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << app.get_name() << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace sr::bench
