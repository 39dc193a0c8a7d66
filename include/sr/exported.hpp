// Programs of torch.export, from an archive of torch.export.save, or from a serialised graph and tensors that
// a caller already has. Needs nlohmann/json 3. If one source file of a program includes this header, sr::load
// reads both kinds of archives.
//
// The arguments of a call are the program's tensors and symbolic numbers in order, without the lists, tuples,
// dicts and constants around them; so is the result: one value, or a tuple of all of them.
#pragma once

#include <cstddef>
#include <istream>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <torch/csrc/jit/api/module.h>

#include <sr/frontend/archive/archive_bytes.hpp>
#include <sr/frontend/export/archive.hpp>
#include <sr/frontend/export/program.hpp>
#include <sr/frontend/export/program_module.hpp>
#include <sr/frontend/front_end.hpp>
#include <sr/load.hpp>
#include <sr/static_module.hpp>

namespace sr {

namespace exported {

// The program in an archive, which `name` names in messages. Throws LoadError if the archive is missing,
// damaged or of another kind, and UnsupportedOpError for parts that sr cannot run. `owner` is that of
// ExportedFrontEnd.
inline ExportedProgram load_program(std::span<const std::byte> archive, const std::string& name,
                                    std::shared_ptr<const void> owner = nullptr) {
  const Archive opened(archive, name, std::move(owner));
  return import_program(opened.json(), opened.tensors());
}
inline ExportedProgram load_program(const std::string& path) {
  const std::string bytes = sr::detail::read_file(path);
  return load_program(std::as_bytes(std::span(bytes.data(), bytes.size())), path);
}

}  // namespace exported

// Does what sr::load does, but only for archives of torch.export.save.
inline StaticModule load_exported(const std::string& path, const StaticModuleOptions& options = {}) {
  return detail::take_module(exported::to_module(exported::load_program(path)), options);
}
inline StaticModule load_exported(std::istream& stream, const StaticModuleOptions& options = {}) {
  const std::string name = "the stream", bytes = detail::read_stream(stream, name);
  const auto program = exported::load_program(std::as_bytes(std::span(bytes.data(), bytes.size())), name);
  return detail::take_module(exported::to_module(program), options);
}

namespace detail {

inline torch::jit::Module load_exported_module(std::span<const std::byte> archive, const std::string& name,
                                               std::shared_ptr<const void> owner) {
  return exported::to_module(exported::load_program(archive, name, std::move(owner)));
}

inline const bool exported_is_registered = [] {
  exported_front_end() = &load_exported_module;
  return true;
}();

}  // namespace detail

}  // namespace sr
