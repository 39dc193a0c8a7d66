// The body of a prim::fork: a module of its own, run on pooled runtimes of its own. Defined in
// impl/fork_body.hpp, since it needs what is declared after it.
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
enum class WeightOwner;

namespace detail {
class CorePool;
}

// Shared by the module that forks it and the tasks that run it, which may outlive the module.
class ForkBody {
 public:
  // Throws UnsupportedOp under options.strict when the body holds what needs the interpreter.
  ForkBody(const torch::jit::Node& fork, const StaticModuleOptions& options, WeightOwner owner);

  // sr can not run the body, and LibTorch's interpreter does.
  bool is_interpreted() const { return code_ != nullptr; }
  // The body as a module; null: it is interpreted.
  const std::shared_ptr<const PreparedModule>& content() const { return content_; }

  // From any number of threads at once; the runtimes, and their plans, stay for the next call. Throws what
  // the body throws.
  c10::IValue run(const memory::PlannerOps& planner, std::vector<c10::IValue> args,
                  const CallOptions& options) const;

 private:
  // The pool of a planner; runtimes of several may run one module.
  const detail::CorePool& pool(const memory::PlannerOps& planner) const;

  std::shared_ptr<const PreparedModule> content_;  // null: interpreted
  std::unique_ptr<torch::jit::Code> code_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<const memory::PlannerOps*, std::shared_ptr<detail::CorePool>>> pools_;
};

}  // namespace sr
