// Definitions of <sr/static_module.hpp>.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/frontend/loaded_graph.hpp>
#include <sr/impl/core_pool.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/state_copy.hpp>
#include <sr/static_module.hpp>

namespace sr {

struct StaticModule::OwnRuntimes {
  std::once_flag once;
  std::unique_ptr<detail::CorePool> pool;  // made by the first call
};

SR_INLINE StaticModule::StaticModule(const torch::jit::Module& module, const StaticModuleOptions& options)
    : StaticModule(load_graph(module, "forward", {.off = options.without_passes, .watch = nullptr},
                              weight_owner(options)),
                   options) {}

SR_INLINE StaticModule::StaticModule(const std::shared_ptr<torch::jit::Graph>& graph,
                                     const StaticModuleOptions& options)
    : StaticModule(
          load_graph(graph, {.off = options.without_passes, .watch = nullptr}, weight_owner(options)),
          options) {}

SR_INLINE StaticModule::StaticModule(LoadedGraph loaded, const StaticModuleOptions& options)
    : content_(std::make_shared<const PreparedModule>(std::move(loaded), options)),
      own_(std::make_shared<OwnRuntimes>()) {}

SR_INLINE StaticModule::StaticModule(std::shared_ptr<const PreparedModule> content)
    : content_(std::move(content)), own_(std::make_shared<OwnRuntimes>()) {}

SR_INLINE StaticModule StaticModule::clone() const {
  return content_->state == nullptr ? *this : StaticModule(detail::with_own_state(content_));
}

SR_INLINE c10::IValue StaticModule::operator()(std::vector<c10::IValue> args,
                                               const KeywordArgs& kwargs) const {
  std::call_once(own_->once, [this] {
    own_->pool = std::make_unique<detail::CorePool>(content_, memory::kPlannerOps<memory::LinearScan>);
  });
  return own_->pool->lease()->call(args, &kwargs, nullptr);
}

SR_INLINE void StaticModule::refresh_weights() const {
  content_->weights->refresh();
}

SR_INLINE void StaticModule::update(const StateDict& state, bool strict) const {
  content_->weights->update(state, strict);
}

SR_INLINE const StaticModuleOptions& StaticModule::options() const {
  return content_->options;
}

SR_INLINE const torch::jit::Graph& StaticModule::graph() const {
  return *content_->graph;
}

SR_INLINE const c10::FunctionSchema& StaticModule::schema() const {
  return content_->schema;
}

}  // namespace sr
