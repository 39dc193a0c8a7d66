// From a file or stream written by torch.jit.save or torch.export.save to a StaticModule.
#pragma once

#include <iosfwd>
#include <string>

#include <sr/base/config.hpp>
#include <sr/base/jit_fwd.hpp>
#include <sr/base/options.hpp>
#include <sr/static_module.hpp>

namespace sr {

// The module of an archive. That of an exported program has one method, and the program's tensors are its
// attributes. A caller includes <torch/script.h>, which defines the type. `name` names the archive in
// messages. Throws LoadError, and UnsupportedOpError for parts of an exported program that sr cannot run.
torch::jit::Module load_module(std::istream& stream, const std::string& name = "the stream");
torch::jit::Module load_module(const std::string& path, WeightMemory memory = WeightMemory::copied);

// Loads, verifies every byte of the archive against its checksums, and prepares. Throws LoadError for a file
// that is missing, truncated, damaged or something else, ArgumentError if options.weights.memory is `mapped`
// and the weights are compressed or come from a stream, and what the constructor of StaticModule throws.
StaticModule load(const std::string& path, const StaticModuleOptions& options = {});
StaticModule load(std::istream& stream, const StaticModuleOptions& options = {});

namespace detail {

// From the bytes of an archive; `name` names it in messages.
torch::jit::Module parse_archive(const std::string& bytes, const std::string& name);

// Makes a StaticModule of a module that the caller gives up. Its weights can change only if a call returns
// them.
StaticModule take_module(const torch::jit::Module& module, const StaticModuleOptions& options);

}  // namespace detail

}  // namespace sr
