// `sr bench`: times models on sr and its rivals in one process, and checks what they return.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../timing/arrivals.hpp"
#include "run.hpp"

namespace sr::tool {

// What `--against` takes for runtimes that are called from Python (python_rivals.hpp).
inline const std::vector<std::string>& python_rivals() {
  static const std::vector<std::string> names{"eager", "onnxruntime", "openvino"};
  return names;
}

struct BenchOptions {
  std::vector<std::string> models;
  InputOptions inputs;
  std::vector<std::string> planners{"linear_scan"};
  std::vector<std::string> against;           // interpreter, upstream
  std::vector<std::string> python_rivals;     // of python_rivals()
  std::vector<std::string> outputs{"fresh"};  // of output_names()
  int threads = 1;                            // of one operator
  int interop_threads = 0;                    // of forks; 0: as many as LibTorch takes
  int concurrency = 1;                        // callers at once, each with its own runtime
  std::int64_t warmup = -1;                   // calls; negative: up to 50, at most half a second
  std::int64_t iters = 0;                     // timed calls of each runner; 0: by time
  double seconds = 1.0;                       // for each runner
  Load load;  // with a rate: calls arrive at it, instead of one after the other
  bool replay = true;
  bool ops = false;
  std::string ops_picture;            // file for a picture of what --ops times; empty: none
  std::string json;                   // file to write; empty: none
  std::string command_line, version;  // for the record
};

// Returns the exit code of the program: kDiffers if a result of sr differs from the interpreter's.
int bench(const BenchOptions& options);
inline constexpr int kDiffers = 3;

}  // namespace sr::tool
