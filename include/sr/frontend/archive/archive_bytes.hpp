// The bytes of an archive, from a file or a stream.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <string>

#include <sr/base/error.hpp>

namespace sr::detail {

inline std::string read_stream(std::istream& stream, const std::string& name) {
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) throw LoadError(name + " could not be read to its end.");
  return bytes;
}

inline std::string read_file(const std::string& path) {
  constexpr auto kExpected = "; expected a file written by torch.jit.save or torch.export.save.";
  std::error_code ignored;  // a path that cannot be asked about cannot be opened
  if (std::filesystem::is_directory(path, ignored)) throw LoadError(path + " is a directory" + kExpected);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw LoadError("The file " + path + " cannot be opened for reading.");
  std::string bytes;
  file.seekg(0, std::ios::end);
  const auto size = file.tellg();
  if (size > 0) bytes.resize(static_cast<std::size_t>(size));
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw LoadError(path + " could not be read to its end" + kExpected);
  return bytes;
}

}  // namespace sr::detail
