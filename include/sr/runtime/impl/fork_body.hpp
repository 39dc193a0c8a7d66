// Definitions of <sr/module/fork_body.hpp>, which need a whole module and its runtimes.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <sr/base/error.hpp>
#include <sr/frontend/loaded_graph.hpp>
#include <sr/graph/each_node.hpp>
#include <sr/module/fork_body.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/runtime/core_pool.hpp>

namespace sr {

namespace detail {

// Call stacks of nodes point to functions that freezing has removed, and LibTorch's interpreter reads their
// names when a body throws: they get one that exists.
inline void forget_call_stacks(torch::jit::Block* block) {
  static torch::jit::GraphFunction forked("forked", std::make_shared<torch::jit::Graph>(), nullptr);
  each_node<Forks::enter>(block, [](torch::jit::Node* node) {
    if (!node->callstack()) return;
    node->setCallStack(c10::make_intrusive<torch::jit::InlinedCallStack>(&forked, node->sourceRange()));
  });
}

}  // namespace detail

SR_INLINE ForkBody::ForkBody(const torch::jit::Node& fork, const StaticModuleOptions& options,
                             WeightOwner owner) {
  const auto body = fork.g(c10::attr::Subgraph)->copy();
  detail::forget_call_stacks(body->block());
  StaticModuleOptions own = options;
  own.memory.manage_outputs = false;  // results outlive the next call of their runtime
  try {
    content_ = std::make_shared<const PreparedModule>(
        load_graph(body, {.off = own.debug.without_passes, .watch = nullptr}, owner), own);
  } catch (const UnsupportedOpError&) {
    if (options.strict) throw;
    code_ = std::make_unique<torch::jit::Code>(body, "forked");
  }
}

SR_INLINE const detail::CorePool& ForkBody::pool(const memory::PlannerOps& planner) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [made_for, pool] : pools_) {
    if (made_for == &planner) return *pool;
  }
  return *pools_.emplace_back(&planner, std::make_shared<detail::CorePool>(content_, planner)).second;
}

SR_INLINE c10::IValue ForkBody::run(const memory::PlannerOps& planner, std::vector<c10::IValue> args,
                                    const CallOptions& options,
                                    std::shared_ptr<const WeightSet> weights) const {
  if (!is_interpreted()) return pool(planner).lease()->call_with(std::move(weights), args, options);
  options.check();
  torch::jit::InterpreterState(*code_).run(args);
  return torch::jit::pop(args);
}

SR_INLINE std::shared_ptr<const WeightSet> ForkBody::weights(const WeightSet& outer) const {
  return is_interpreted() ? nullptr : outer.of_body(content_->weights.get());
}

}  // namespace sr
