// The body of a prim::fork: a separate module that runs on its own pool of runtimes. Its functions are
// defined in impl/fork_body.hpp, since they need headers that include this one.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <sr/base/call_options.hpp>
#include <sr/base/options.hpp>
#include <sr/memory/planner_ops.hpp>

namespace sr {

struct PreparedModule;
class WeightSet;
enum class WeightOwner;

namespace detail {
class CorePool;
}

// The module that forks it and the tasks that run it share ownership: tasks may outlive the module.
class ForkBody {
 public:
  // Throws UnsupportedOpError under options.strict if the body has a node that needs the interpreter.
  ForkBody(const torch::jit::Node& fork, const StaticModuleOptions& options, WeightOwner owner);

  // True if LibTorch's interpreter runs the body, since sr cannot.
  bool is_interpreted() const { return code_ != nullptr; }
  // The body as a module; null if it is interpreted.
  const std::shared_ptr<const PreparedModule>& content() const { return content_; }

  // May be called from any number of threads at once. The runtimes and their programs are kept for the next
  // call. `weights` are those of the call that forks the body. Throws what the body throws.
  c10::IValue run(const memory::PlannerOps& planner, std::vector<c10::IValue> args,
                  const CallOptions& options, std::shared_ptr<const WeightSet> weights) const;
  // The weights of the body in a call with the weights `outer`; null if the body is interpreted.
  std::shared_ptr<const WeightSet> weights(const WeightSet& outer) const;

 private:
  // The pool for a planner. Runtimes with different planners may run one module.
  const detail::CorePool& pool(const memory::PlannerOps& planner) const;

  std::shared_ptr<const PreparedModule> content_;  // null: interpreted
  std::unique_ptr<torch::jit::Code> code_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<const memory::PlannerOps*, std::shared_ptr<detail::CorePool>>> pools_;
};

}  // namespace sr
