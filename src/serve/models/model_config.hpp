// How one model is served: its file, batches, sessions, and the sizes that it is made ready for.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <sr/batching/options.hpp>

namespace sr::serve {

struct ModelConfig {
  std::string name, version = "1", file;
  std::string text;  // of the configuration itself, to see that it changed
  // Maps the weights from the file, so that processes share their pages. The file must not be written while
  // it is mapped; renaming another file to its name is safe.
  bool map_weights = false;
  // Joins requests to batches. Off by default, because a signature does not say whether the rows of a model
  // depend on each other.
  bool batches = false;
  BatcherOptions batching;  // max_waiting also bounds requests that are not joined
  // Arguments in order, as `sr run --shape` takes them. Empty: one row of zeros of an exported program.
  std::vector<std::vector<std::string>> warmup;
  std::size_t max_sessions = 10000;
  std::chrono::duration<double> session_idle{600};  // after which a session is dropped
};

// Reads the text of a configuration. A relative `file` is relative to `folder`. `name` is that of the model
// if the text has none. Throws ArgumentError with the key that is wrong.
//
//   {"file": "ranking.pt2", "version": "7",
//    "batching": {"max_rows": 64, "max_wait": 0.001, "max_waiting": 1000, "padding": [{"argument": 0}]},
//    "warmup": [["f32[1,64]"], ["f32[64,64]"]],
//    "sessions": {"max": 1000, "idle": 60}}
//
// `batching` may also be true or false; without it requests are not joined. Times are in seconds.
ModelConfig parse_config(const std::string& text, const std::string& name, const std::string& folder);

// The configurations of all files *.json in a folder, by name. Throws ArgumentError.
std::vector<ModelConfig> read_folder(const std::string& folder);

// Reads "FILE" or "NAME=FILE". The default name is the file name without its extension.
ModelConfig config_of(const std::string& model);

}  // namespace sr::serve
