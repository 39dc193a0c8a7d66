// What the tests of the command-line tool share: files, Python, and values read from files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include <torch/script.h>

#include "catch.hpp"

namespace sr::test {

// A temporary directory, removed with its contents.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("sr_tool_inputs_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

inline void write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Runs a Python script in `folder`. Returns false, with a warning, if SR_PYTHON names no interpreter.
inline bool python(const Folder& folder, const std::string& script) {
  const char* interpreter = std::getenv("SR_PYTHON");
  if (interpreter == nullptr) {
    WARN("SR_PYTHON is not set: skipped what needs Python");
    return false;
  }
  write(folder.file("script.py"), "import collections, torch\n" + script);
  const std::string command =
      "cd '" + folder.path.string() + "' && '" + interpreter + "' -W ignore script.py > log 2>&1";
  const int status = std::system(command.c_str());
  INFO(read(folder.file("log")));
  REQUIRE(status == 0);
  return true;
}

inline bool contains(const std::string& text, std::string_view part) {
  INFO(text);
  CHECK(!text.empty());
  return text.find(part) != std::string::npos;
}

inline c10::IValue list(std::initializer_list<c10::IValue> items) {
  c10::impl::GenericList result(c10::AnyType::get());
  for (const c10::IValue& item : items) result.push_back(item);
  return result;
}

}  // namespace sr::test
