// Definitions of <sr/static_module.hpp>.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/base/fork_safe_mutex.hpp>
#include <sr/frontend/loaded_graph.hpp>
#include <sr/module/module_methods.hpp>
#include <sr/module/prepared_module.hpp>
#include <sr/module/weight_update.hpp>
#include <sr/runtime_pool.hpp>
#include <sr/static_module.hpp>

namespace sr {

struct StaticModule::OwnRuntimes {
  std::once_flag once;
  std::optional<RuntimePool<>> made;
  detail::ForkSafeMutex mutex;
  std::map<std::string, StaticModule> methods;  // that were asked for

  const RuntimePool<>& pool(const StaticModule& module) {
    std::call_once(once, [&] { made.emplace(module); });
    return *made;
  }
};

namespace detail {

// Throws ArgumentError if there is no such method.
inline void require_method(const std::vector<std::string>& methods, const std::string& name) {
  if (std::ranges::find(methods, name) != methods.end()) return;
  throw ArgumentError("The model has no method '" + name + "' that runs on its state. It has " +
                          (methods.empty() ? "none besides `forward`" : quoted(methods, methods.size())) +
                          ".",
                      name);
}

// Returns the method as a module with the variables of `main`, whose state it shares.
inline std::shared_ptr<const PreparedModule> prepare_method(const PreparedModule& main,
                                                            const std::string& name) {
  ModuleMethods& methods = *main.methods;
  return methods.prepared(name, [&] {
    const passes::PassSettings settings{.off = main.options.debug.without_passes, .watch = nullptr};
    LoadedGraph loaded = load_graph(methods.source(), name, settings, methods.owner(), main.variables);
    return std::make_shared<const PreparedModule>(std::move(loaded), main.options, &main);
  });
}

inline void prepare_if_possible(const PreparedModule& main, const std::string& name) {
  try {
    prepare_method(main, name);
  } catch (const std::exception&) {  // whoever asks for the method is told
  }
}

}  // namespace detail

SR_INLINE StaticModule::StaticModule(const torch::jit::Module& module, const StaticModuleOptions& options)
    : StaticModule(load_graph(module, "forward", {.off = options.debug.without_passes, .watch = nullptr},
                              weight_owner(options)),
                   options) {}

SR_INLINE StaticModule::StaticModule(const std::shared_ptr<torch::jit::Graph>& graph,
                                     const StaticModuleOptions& options)
    : StaticModule(
          load_graph(graph, {.off = options.debug.without_passes, .watch = nullptr}, weight_owner(options)),
          options) {}

SR_INLINE StaticModule::StaticModule(LoadedGraph loaded, const StaticModuleOptions& options)
    : content_(std::make_shared<const PreparedModule>(std::move(loaded), options)),
      state_(content_->state),
      own_(std::make_shared<OwnRuntimes>()) {}

SR_INLINE StaticModule::StaticModule(std::shared_ptr<const PreparedModule> content,
                                     std::shared_ptr<SessionState> state)
    : content_(std::move(content)), state_(std::move(state)), own_(std::make_shared<OwnRuntimes>()) {}

SR_INLINE std::vector<std::string> StaticModule::methods() const {
  return content_->methods == nullptr ? std::vector<std::string>() : content_->methods->names();
}

SR_INLINE StaticModule StaticModule::method(const std::string& name) const {
  detail::require_method(methods(), name);
  const std::scoped_lock lock(own_->mutex);
  const auto known = own_->methods.find(name);
  if (known != own_->methods.end()) return known->second;
  const StaticModule made(detail::prepare_method(*content_, name), state_);
  return own_->methods.emplace(name, made).first->second;
}

SR_INLINE const RuntimePool<>& StaticModule::own_runtimes() const {
  return own_->pool(*this);
}

SR_INLINE StaticModule StaticModule::clone() const {
  if (state_ == nullptr) return *this;
  const StateUse use(state_.get());
  return {content_, std::make_shared<SessionState>(state_->values().copy_on_write())};
}

SR_INLINE c10::IValue StaticModule::operator()(std::vector<c10::IValue> args,
                                               const KeywordArgs& kwargs) const {
  return own_runtimes()(std::move(args), kwargs);
}

SR_INLINE c10::IValue StaticModule::operator()(std::vector<c10::IValue> args, const KeywordArgs& kwargs,
                                               const CallOptions& options) const {
  return own_runtimes()(std::move(args), kwargs, options);
}

SR_INLINE void StaticModule::run_into(c10::ArrayRef<c10::IValue> args,
                                      c10::ArrayRef<at::Tensor> outputs) const {
  own_runtimes().run_into(args, outputs);
}

SR_INLINE c10::intrusive_ptr<c10::ivalue::Future> StaticModule::run_async(std::vector<c10::IValue> args,
                                                                          const KeywordArgs& kwargs,
                                                                          const CallOptions& options) const {
  return own_runtimes().run_async(std::move(args), kwargs, options);
}

SR_INLINE void StaticModule::reserve(const std::vector<c10::IValue>& args, const KeywordArgs& kwargs,
                                     std::size_t runtimes) const {
  own_runtimes().reserve(args, kwargs, runtimes);
}

SR_INLINE void StaticModule::trim() const {
  own_runtimes().trim();
}

SR_INLINE CallMetrics StaticModule::metrics() const {
  return own_runtimes().metrics();
}

SR_INLINE PoolReport StaticModule::report() const {
  return own_runtimes().report();
}

namespace detail {

// Sizes that torch.export left open have names, the same one where they must be equal.
inline std::vector<ValueSpec> specs_of(const std::vector<c10::Argument>& arguments) {
  std::unordered_map<std::int64_t, std::string> symbols;
  std::vector<ValueSpec> specs;
  for (const c10::Argument& argument : arguments) {
    ValueSpec& spec = specs.emplace_back();
    spec.name = argument.name();
    spec.type = argument.type()->annotation_str();
    spec.default_value = argument.default_value();
    const auto tensor = argument.type()->cast<c10::TensorType>();
    if (!tensor) continue;
    spec.dtype = tensor->scalarType();
    const auto sizes = tensor->symbolic_sizes().sizes();
    if (!sizes) continue;
    spec.sizes.emplace();
    for (const c10::ShapeSymbol& size : *sizes) {
      if (size.is_static()) {
        spec.sizes->emplace_back(size.static_size());
      } else {
        const std::string next = "s" + std::to_string(symbols.size());
        spec.sizes->emplace_back(symbols.try_emplace(size.value(), next).first->second);
      }
    }
  }
  return specs;
}

}  // namespace detail

SR_INLINE std::vector<ValueSpec> StaticModule::inputs() const {
  return detail::specs_of(schema().arguments());
}

SR_INLINE std::vector<ValueSpec> StaticModule::outputs() const {
  return detail::specs_of(schema().returns());
}

SR_INLINE void StaticModule::refresh_weights() const {
  content_->weights->refresh();
  if (content_->methods == nullptr) return;
  content_->methods->each([](const PreparedModule& method) { method.weights->refresh(); });
}

SR_INLINE void StaticModule::update(const StateDict& state, bool strict) const {
  if (content_->methods == nullptr) return content_->weights->update(state, strict);
  // A method that is prepared later would read the weights that its module had before.
  for (const std::string& name : methods()) detail::prepare_if_possible(*content_, name);
  content_->weights->update(state, strict);
  content_->methods->each([&](const PreparedModule& method) { method.weights->update(state, strict); });
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
