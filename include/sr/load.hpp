// From a file or stream written by torch.jit.save to a StaticModule.
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
#include <sr/static_module.hpp>

namespace sr {

namespace detail {

inline torch::jit::Module parse_archive(const std::string& bytes, const std::string& name) {
  check_archive(std::as_bytes(std::span(bytes.data(), bytes.size())), name);
  std::istringstream stream(bytes);
  try {
    return torch::jit::load(stream, c10::Device(c10::kCPU));
  } catch (const std::exception& error) {
    throw LoadError(name +
                    " is an intact archive that LibTorch can not load as TorchScript: " + error.what());
  }
}

}  // namespace detail

// The module of a TorchScript archive. `name` is what messages call it. Throws LoadError.
inline torch::jit::Module load_module(std::istream& stream, const std::string& name = "the stream") {
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) throw LoadError(name + " could not be read to its end.");
  return detail::parse_archive(bytes, name);
}

inline torch::jit::Module load_module(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw LoadError(path + " is a directory; expected a file written by torch.jit.save.");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw LoadError("The file " + path + " can not be opened for reading.");
  std::string bytes;
  file.seekg(0, std::ios::end);
  const auto size = file.tellg();
  if (size > 0) bytes.resize(static_cast<std::size_t>(size));
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file)
    throw LoadError(path + " could not be read to its end; expected a file written by torch.jit.save.");
  return detail::parse_archive(bytes, path);
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
