// A graph transformation with a name, and what callers may want of the pipeline they make up.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/csrc/jit/ir/ir.h>

namespace sr::passes {

// Values that LibTorch's passes must not see through are hidden from them by branches on a condition nobody
// knows (barriers.hpp): what takes branches apart runs once these are gone.
enum class Stage { guarded, last };

struct Pass {
  std::string_view name;
  std::string_view what;  // it does, in a few words
  void (*run)(std::shared_ptr<torch::jit::Graph>& graph);
  Stage stage = Stage::guarded;
};

struct PassSettings {
  std::vector<std::string> off;  // names of passes that are not run
  // Called after each pass with the graph as it was before, and as it is.
  std::function<void(const Pass& pass, const torch::jit::Graph& before, const torch::jit::Graph& after)>
      watch;
};

}  // namespace sr::passes
