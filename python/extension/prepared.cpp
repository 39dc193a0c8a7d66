#include "prepared.hpp"

#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>

#include <sr/frontend/archive/archive_bytes.hpp>
#include <sr/frontend/loaded_graph.hpp>
#include <sr/load.hpp>

namespace sr::python {

std::string saved(const torch::jit::Module& module) {
  std::ostringstream stream;
  module.save(stream);
  return stream.str();
}

namespace {

// The graph as the method `forward` of a module without attributes.
torch::jit::Module module_of(torch::jit::Graph& graph, const c10::FunctionSchema& schema) {
  torch::jit::Module module("__torch__.Graph");
  const std::shared_ptr<torch::jit::Graph> method = graph.copy();
  method->insertInput(0, "self")->setType(module.type());
  auto* const forward = module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*module.type()->name(), "forward"), method);
  std::vector<c10::Argument> arguments{c10::Argument("self", module.type())};
  arguments.insert(arguments.end(), schema.arguments().begin(), schema.arguments().end());
  forward->setSchema(c10::FunctionSchema("forward", "", std::move(arguments), schema.returns()));
  module.type()->addMethod(forward);
  return module;
}

std::shared_ptr<Prepared> made(StaticModule module, std::function<torch::jit::Module()> source) {
  auto archive = [source] { return saved(source()); };
  return std::make_shared<Prepared>(Prepared{std::move(module), std::move(source), std::move(archive)});
}

std::shared_ptr<Prepared> prepare(LoadedGraph loaded, const std::shared_ptr<torch::jit::Graph>& graph,
                                  const StaticModuleOptions& options) {
  StaticModule module(std::move(loaded), options);
  auto source = [graph, schema = module.schema()] { return module_of(*graph, schema); };
  return made(std::move(module), std::move(source));
}

LoadedGraph load(const std::shared_ptr<torch::jit::Graph>& graph, const StaticModuleOptions& options) {
  return load_graph(graph, {.off = options.debug.without_passes, .watch = nullptr}, weight_owner(options));
}

// A module of TorchScript takes some hundred KiB beside its weights. For a small one its archive is kept
// instead, and is read again when the module is saved.
std::shared_ptr<Prepared> prepare_archive(std::string bytes, const std::string& name,
                                          const StaticModuleOptions& options) {
  constexpr std::size_t kSmall = std::size_t{128} << 10;
  torch::jit::Module module = sr::detail::parse_archive(bytes, name);
  if (bytes.size() > kSmall) return prepare_owned(module, options);
  StaticModule prepared = sr::detail::take_module(module, options);
  return made(std::move(prepared), [archive = std::make_shared<const std::string>(std::move(bytes)), name] {
    return sr::detail::parse_archive(*archive, name);
  });
}

}  // namespace

std::shared_ptr<Prepared> prepare_module(const torch::jit::Module& module,
                                         const StaticModuleOptions& options) {
  return made(StaticModule(module, options), [module] { return module; });
}

std::shared_ptr<Prepared> prepare_owned(const torch::jit::Module& module,
                                        const StaticModuleOptions& options) {
  return made(sr::detail::take_module(module, options), [module] { return module; });
}

std::shared_ptr<Prepared> prepare_graph(const std::shared_ptr<torch::jit::Graph>& graph,
                                        const StaticModuleOptions& options) {
  return prepare(load(graph, options), graph, options);
}

std::shared_ptr<Prepared> prepare_function(torch::jit::Function& function,
                                           const StaticModuleOptions& options) {
  const auto graph = torch::jit::toGraphFunction(function).graph();
  LoadedGraph loaded = load(graph, options);
  loaded.schema = function.getSchema();
  return prepare(std::move(loaded), graph, options);
}

std::shared_ptr<Prepared> prepare_file(const std::string& path, const StaticModuleOptions& options,
                                       bool map_weights) {
  if (map_weights) return prepare_owned(load_module(path, WeightMemory::mapped), options);
  return prepare_archive(sr::detail::read_file(path), path, options);
}

std::shared_ptr<Prepared> prepare_bytes(const std::string& bytes, const StaticModuleOptions& options) {
  return prepare_archive(bytes, "the bytes", options);
}

}  // namespace sr::python
