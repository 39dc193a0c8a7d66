// Programs on which the fuzzer found sr wrong, in every configuration.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/check.hpp"
#include "fuzz/runner.hpp"
#include "support/catch.hpp"

namespace sr::fuzz {

TEST_CASE("programs that were wrong once stay right", "[fuzz]") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(SR_FUZZ_CASES)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    const Case program = from_text(text.str());
    for (const Configuration& configuration : configurations()) {
      const Verdict verdict = check(program, {std::string(configuration.name)});
      INFO(path.filename().string() << ", " << configuration.name << "\n" << source(program));
      CHECK(verdict.text == "");
    }
  }
}

}  // namespace sr::fuzz
