// Programs of torch.export: from an archive of torch.export.save, or from a serialised graph and tensors that
// a caller already has. Needs nlohmann/json 3; included in one source file of a program, sr::load reads both.
//
// The arguments of a call are the program's tensors and symbolic numbers in order, without the lists, tuples,
// dicts and constants around them; so is the result: one value, or a tuple of all of them.
#pragma once

#include <cstddef>
#include <fstream>
#include <istream>
#include <iterator>
#include <span>
#include <string>

#include <sr/exported/archive.hpp>
#include <sr/exported/program.hpp>
#include <sr/front_end.hpp>
#include <sr/load.hpp>
#include <sr/static_module.hpp>

namespace sr {

// Ready for the constructor of StaticModule.
inline LoadedGraph load_graph(const exported::Program& program, const passes::PassSettings& settings = {}) {
  LoadedGraph loaded = load_graph(program.graph, settings);
  loaded.schema = program.schema;
  return loaded;
}

inline StaticModule prepare(const exported::Program& program, const StaticModuleOptions& options = {}) {
  return StaticModule(load_graph(program, {.off = options.without_passes, .watch = nullptr}), options);
}

// The program in an archive. Throws LoadError for what is missing, damaged or something else, UnsupportedOp
// for what sr can not run.
inline exported::Program load_exported_program(std::span<const std::byte> archive, const std::string& name) {
  return exported::Archive(archive, name).program();
}

inline StaticModule load_exported(const std::string& path, const StaticModuleOptions& options = {}) {
  const std::string bytes = detail::read_file(path);
  return prepare(load_exported_program(std::as_bytes(std::span(bytes)), path), options);
}
inline StaticModule load_exported(std::istream& stream, const StaticModuleOptions& options = {}) {
  const std::string bytes = detail::read_stream(stream, "the stream");
  return prepare(load_exported_program(std::as_bytes(std::span(bytes)), "the stream"), options);
}

namespace detail {

inline LoadedGraph load_exported_graph(std::span<const std::byte> archive, const std::string& name,
                                       const passes::PassSettings& settings) {
  return load_graph(load_exported_program(archive, name), settings);
}

inline const bool exported_is_registered = [] {
  exported_front_end() = &load_exported_graph;
  return true;
}();

}  // namespace detail

}  // namespace sr
