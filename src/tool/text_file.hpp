// Writes text files.
#pragma once

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <sr/error.hpp>

namespace sr::tool {

// Throws LoadError if it cannot be written.
inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) throw LoadError("The file '" + path + "' cannot be written: " + std::strerror(errno) + ".");
}

}  // namespace sr::tool
