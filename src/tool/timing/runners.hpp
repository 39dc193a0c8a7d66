// The runners that `sr bench` can time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/compat/benchmark.hpp>
#include <sr/report.hpp>
#include <sr/runtime_pool.hpp>  // defines what modules call, too
#include <sr/static_module.hpp>

#include "../inputs/inputs.hpp"
#include "agreement.hpp"
#include "runner.hpp"

namespace sr::tool {

// Where results are written. fresh: into new tensors; managed: into tensors that the runtime reuses; into:
// into the same buffers of the caller each time (run_into); bound: the same, by bound calls.
enum class Outputs { fresh, managed, into, bound };
std::string_view name_of(Outputs outputs);
// The names, in this order.
inline const std::vector<std::string>& output_names() {
  static const std::vector<std::string> names{"fresh", "managed", "into", "bound"};
  return names;
}

// `planner` is one of memory::planner_names(). For Outputs::into, `results` holds the result of each input
// set, whose sizes the buffers take; throws ArgumentError if there is no tensor in one. The module's options
// must have manage_output_tensors for Outputs::managed, and only then.
std::unique_ptr<Runner> make_sr_runner(std::string_view planner, const StaticModule& module,
                                       Outputs outputs = Outputs::fresh,
                                       const std::vector<c10::IValue>& results = {});

// A caller of a RuntimePool with `threads` intra-op threads in a call; its clones call the same pool. The
// pool has `runtimes` runtimes, prepared for `sets`. The calling thread must have as many intra-op threads.
// Throws what the model throws for `sets`.
std::unique_ptr<Runner> make_pool_runner(std::string_view planner, const StaticModule& module, int threads,
                                         std::size_t runtimes, const std::vector<ArgumentList>& sets);

// LibTorch's graph interpreter on a frozen copy.
std::unique_ptr<Runner> make_interpreter_runner(const torch::jit::Module& module);

// The Static Runtime of the linked LibTorch, with its default options. Its preparation may change the module.
std::unique_ptr<Runner> make_upstream_runner(const torch::jit::Module& module);

// Time by node on that planner's memory.
IndividualMetrics time_nodes(std::string_view planner, const StaticModule& module,
                             const std::vector<ArgumentList>& sets, int warmup_runs, int main_runs);

}  // namespace sr::tool
