// Makes the nodes of a loaded module name the user's lines of Python, in place of those of the archive's
// code.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/frontend/archive/archive_check.hpp>
#include <sr/frontend/archive/debug_pickle.hpp>
#include <sr/graph/each_node.hpp>

namespace sr::detail {

class UserSources {
 public:
  // The records must have passed check_zip.
  explicit UserSources(const std::vector<ZipRecord>& records) {
    std::string inflated;
    for (const ZipRecord& record : records) {
      constexpr std::string_view kEnding = ".debug_pkl";
      const auto slash = record.name.find('/');
      if (!is_for_messages(record) || slash == std::string_view::npos) continue;
      const std::string_view below_root = record.name.substr(slash + 1);
      maps_.emplace(below_root.substr(0, below_root.size() - kEnding.size()), bytes_of(record, inflated));
    }
  }

  // For the code of all classes and functions of the module.
  void name_in(const torch::jit::Module& module) const {
    if (maps_.empty()) return;
    for (torch::jit::Function* const function : module._ivalue()->compilation_unit()->get_functions()) {
      if (auto* const graph_function = torch::jit::tryToGraphFunction(*function))
        each_node(graph_function->graph()->block(), [&](torch::jit::Node* node) { name(*node); });
    }
  }

 private:
  void name(torch::jit::Node& node) const {
    const torch::jit::SourceRange range = node.sourceRange();
    if (range.source() == nullptr || !range.source()->filename()) return;
    const auto map = maps_.find(*range.source()->filename());
    if (map == maps_.end()) return;
    if (const auto found = map->second.find(range.start())) node.setSourceRange(*found);
  }

  std::unordered_map<std::string, SourceMap> maps_;  // by name of the code's record
};

}  // namespace sr::detail
