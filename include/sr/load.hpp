// From a file or stream written by torch.jit.save or torch.export.save to a StaticModule.
#pragma once

#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <torch/csrc/jit/serialization/import.h>

#include <sr/archive_check.hpp>
#include <sr/error.hpp>
#include <sr/front_end.hpp>
#include <sr/static_module.hpp>

namespace sr {

namespace detail {

inline torch::jit::Module parse_exported(std::span<const std::byte> archive, const std::string& name) {
  if (const ExportedFrontEnd front_end = exported_front_end()) return front_end(archive, name);
  throw LoadError(
      "The file '" + name +
      "' was written by torch.export.save. To read it, include <sr/exported.hpp> in one source file of "
      "the program, or link the compiled operators (sr_ops_dep in Meson) of a build that found "
      "nlohmann_json.");
}

inline torch::jit::Module parse_archive(const std::string& bytes, const std::string& name) {
  const auto archive = std::as_bytes(std::span(bytes.data(), bytes.size()));
  if (is_exported(read_zip_directory(archive, name))) return parse_exported(archive, name);
  check_archive(archive, name);
  std::istringstream stream(bytes);
  try {
    return torch::jit::load(stream, c10::Device(c10::kCPU));
  } catch (const std::exception& error) {
    throw LoadError(name +
                    " is an intact archive that LibTorch can not load as TorchScript: " + error.what());
  }
}

inline std::string read_stream(std::istream& stream, const std::string& name) {
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) throw LoadError(name + " could not be read to its end.");
  return bytes;
}

inline std::string read_file(const std::string& path) {
  constexpr auto kExpected = "; expected a file written by torch.jit.save or torch.export.save.";
  if (std::filesystem::is_directory(path)) throw LoadError(path + " is a directory" + kExpected);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw LoadError("The file " + path + " can not be opened for reading.");
  std::string bytes;
  file.seekg(0, std::ios::end);
  const auto size = file.tellg();
  if (size > 0) bytes.resize(static_cast<std::size_t>(size));
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw LoadError(path + " could not be read to its end" + kExpected);
  return bytes;
}

}  // namespace detail

// The module of an archive; that of an exported program has one method and its tensors in the graph. `name`
// is what messages call it. Throws LoadError, and UnsupportedOp for what an exported program has and sr does
// not.
inline torch::jit::Module load_module(std::istream& stream, const std::string& name = "the stream") {
  return detail::parse_archive(detail::read_stream(stream, name), name);
}

inline torch::jit::Module load_module(const std::string& path) {
  return detail::parse_archive(detail::read_file(path), path);
}

// Loads, verifies every byte of the archive against its checksums, and prepares. Throws LoadError for a file
// that is missing, truncated, damaged or something else, and what the constructor of StaticModule throws.
inline StaticModule load(const std::string& path, const StaticModuleOptions& options = {}) {
  return StaticModule(load_module(path), options);
}
inline StaticModule load(std::istream& stream, const StaticModuleOptions& options = {}) {
  return StaticModule(load_module(stream), options);
}

}  // namespace sr
