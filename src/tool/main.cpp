// The program `sr`. LibTorch takes up to half a second to start, so this program reads the command line
// without it, answers --help and wrong usage at once, and starts sr-verbs for a verb, or sr-serve.
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
std::filesystem::path program_of(const sr::tool::Verb& verb) {
  const char* const name = std::holds_alternative<sr::serve::ServeOptions>(verb) ? "sr-serve" : "sr-verbs";
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::filesystem::path built = here / name;
  return std::filesystem::exists(built) ? built : here / SR_VERBS_FROM_BIN / name;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto parsed = sr::tool::parse(argc, argv);
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  const std::string program = program_of(std::get<sr::tool::Verb>(parsed)).string();
  execv(program.c_str(), argv);
  std::cerr << "sr: The program " << program << " cannot be started: " << std::strerror(errno)
            << ". It is built and installed with sr"
            << (program.ends_with("sr-serve") ? ", if gRPC and Boost are there (see docs/guide/building.md)"
                                              : "")
            << ".\n";
  return sr::tool::kError;
} catch (const std::exception& error) {
  std::cerr << "sr: " << error.what() << '\n';
  return sr::tool::kError;
}
