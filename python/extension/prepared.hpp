// A StaticModule as Python holds it. Every importer of a format makes one, and Python makes an
// sr.StaticModule from it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <sr/options.hpp>
#include <sr/static_module.hpp>

namespace sr::python {

struct Prepared {
  StaticModule module;
  std::function<torch::jit::Module()> source;  // the model that it was prepared from
  std::function<std::string()> archive;        // bytes from which it can be prepared again, for pickle
  std::string format = "torchscript";          // of the archive; sr._formats has the function that reads it
};

// These functions need no GIL. They throw LoadError, UnsupportedOpError and ArgumentError.
std::shared_ptr<Prepared> prepare_module(const torch::jit::Module& module,
                                         const StaticModuleOptions& options);
std::shared_ptr<Prepared> prepare_graph(const std::shared_ptr<torch::jit::Graph>& graph,
                                        const StaticModuleOptions& options);
// A scripted or traced function. Keeps the defaults of its arguments, which a graph does not have.
std::shared_ptr<Prepared> prepare_function(torch::jit::Function& function,
                                           const StaticModuleOptions& options);
std::shared_ptr<Prepared> prepare_file(const std::string& path, const StaticModuleOptions& options,
                                       bool map_weights);
std::shared_ptr<Prepared> prepare_bytes(const std::string& bytes, const StaticModuleOptions& options);
// Prepares a module that has no other holder.
std::shared_ptr<Prepared> prepare_owned(const torch::jit::Module& module, const StaticModuleOptions& options);

// What torch.jit.save writes.
std::string saved(const torch::jit::Module& module);

}  // namespace sr::python
