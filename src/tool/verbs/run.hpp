// `sr run`: runs a model on input sets, prints and writes what it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sr::tool {

// Where arguments come from, for all verbs.
struct InputOptions {
  std::string file;                  // of torch.save
  std::vector<std::string> shapes;   // one for each argument
  std::vector<std::string> streams;  // of the sizes that shapes name
  std::size_t stream_calls = 256;    // so many input sets then
  std::int64_t open_size = 8;        // of sizes that the program leaves open, without file and shapes
  std::uint64_t seed = 0;
};

struct RunOptions {
  std::string model;
  InputOptions inputs;
  std::string output;  // empty: not written
  std::string planner = "linear_scan";
  bool strict = false;
  std::int64_t repeat = 1;
  bool timings = false;  // prints what happened before the first answer, and how long it took
};

// Returns the exit code of the program.
int run(const RunOptions& options);

}  // namespace sr::tool
