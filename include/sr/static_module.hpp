// A model made ready to run: graph, constants, one function per node, lifetimes. Immutable; copies of the
// handle share the same content, and whoever runs it shares its ownership.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>

#include <sr/base/call_options.hpp>
#include <sr/base/config.hpp>
#include <sr/base/jit_fwd.hpp>
#include <sr/base/options.hpp>

namespace sr {

struct LoadedGraph;
struct PreparedModule;

class StaticModule {
 public:
  // Throws RegistryError when no operator is registered at all, UnsupportedOp with one sentence for each node
  // that can not run (or, under options.strict, that needs the interpreter), ArgumentError for a pass in
  // options.without_passes that there is not.
  explicit StaticModule(const torch::jit::Module& module, const StaticModuleOptions& options = {});
  explicit StaticModule(const std::shared_ptr<torch::jit::Graph>& graph,
                        const StaticModuleOptions& options = {});
  StaticModule(LoadedGraph loaded, const StaticModuleOptions& options);

  // Runs the model on a runtime of the module's own, as RuntimePool does, with its defaults; safe from any
  // number of threads. Throws ArgumentError, BusyError, and what operators throw.
  c10::IValue operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs = {}) const;

  // What running reads: <sr/module_content.hpp> says what it holds.
  const std::shared_ptr<const PreparedModule>& content() const { return content_; }
  // Makes every runtime of the module read all weights anew with its next call, also those whose writes
  // LibTorch does not count (`p.data`, memory shared with NumPy). Safe from any number of threads. Throws
  // UnsupportedOp when a weight is no dense tensor on the CPU any more.
  void refresh_weights() const;

  const StaticModuleOptions& options() const;
  const torch::jit::Graph& graph() const;
  const c10::FunctionSchema& schema() const;

 private:
  struct OwnRuntimes;

  std::shared_ptr<const PreparedModule> content_;
  std::shared_ptr<OwnRuntimes> own_;
};

}  // namespace sr
