#include <filesystem>
#include <iostream>

#include <sr/executor/arena.hpp>
#include <sr/memory/linear_scan.hpp>
#include <sr/static_runtime.hpp>

#include "../csv.hpp"
#include "../output.hpp"
#include "suite.hpp"

namespace sr::bench {

void record_plans(const std::vector<Model>& models, const std::string& directory) {
  std::filesystem::create_directories(directory);
  for (const Model& model : models) {
    StaticModuleOptions options;
    options.debug.enable_replay = false;
    StaticRuntime<memory::LinearScan> runtime{StaticModule(model.module, options)};
    // Sizes are known after the first call.
    for (int call = 0; call < 2; ++call) runtime(std::vector<c10::IValue>(model.inputs));
    const std::string path = (std::filesystem::path(directory) / (model.name + ".csv")).string();
    write_file(path, [&](std::ostream& out) { write_requests(out, runtime.arena().requests()); });
    std::cout << path << ": " << runtime.arena().requests().size() << " tensors\n";
  }
}

}  // namespace sr::bench
