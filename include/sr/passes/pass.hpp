// A graph transformation with a name, and settings of the pipeline.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

namespace sr::passes {

// Barriers hide values behind branches on an unknown condition (barriers.hpp). Passes that remove branches
// run after the barriers are removed. Those of the last stage run when the variables of the model are inputs
// and outputs of the graph, and only if there are none.
enum class Stage { behind_barriers, without_barriers, last };

struct Pass {
  std::string_view name;
  std::string_view what;  // it does, in a few words
  void (*run)(std::shared_ptr<torch::jit::Graph>& graph);
  Stage stage = Stage::behind_barriers;
};

struct PassSettings {
  std::vector<std::string> off;  // names of passes that are not run
  // Called after each pass with the graph before and after it.
  std::function<void(const Pass& pass, const torch::jit::Graph& before, const torch::jit::Graph& after)>
      watch;
};

}  // namespace sr::passes
