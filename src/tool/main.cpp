// The program `sr`. LibTorch takes up to half a second to start, so this program reads the command line
// without it, answers --help and wrong usage at once, and starts sr-verbs for a verb.
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <unistd.h>

#include "verbs/verb.hpp"

namespace {

// Next to this program where it was built, in libexec where it was installed.
std::filesystem::path verbs_program() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path built = here / "sr-verbs";
  return std::filesystem::exists(built) ? built : here / SR_VERBS_FROM_BIN / "sr-verbs";
}

}  // namespace

int main(int argc, char** argv) try {
  const auto parsed = sr::tool::parse(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const std::string program = verbs_program().string();
  execv(program.c_str(), argv);
  std::cerr << "sr: The program of the verbs, " << program << ", cannot be started: " << std::strerror(errno)
            << ". It is built and installed with sr.\n";
  return sr::tool::kError;
} catch (const std::exception& error) {
  std::cerr << "sr: " << error.what() << '\n';
  return sr::tool::kError;
}
