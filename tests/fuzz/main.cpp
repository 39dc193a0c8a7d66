// The differential fuzzer: thousands of programs, run by the interpreter and by sr.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include <ATen/Parallel.h>

#include "fuzz/export.hpp"
#include "fuzz/faults.hpp"
#include "fuzz/runner.hpp"
#include "fuzz/workers.hpp"

namespace sr::fuzz {

namespace {

constexpr const char* kUsage =
    "sr_fuzz [--count N] [--seed S] [--first K] [--jobs J] [--config NAME] [--save DIR]\n"
    "        [--images] [--ignore KIND]... [--verbose]\n"
    "sr_fuzz --replay FILE | --print K [--seed S] | --export FILE [--count N] [--seed S] [--first K] | "
    "--self-test\n"
    "Programs K to K + N - 1 of a seed are always the same. --jobs 0: no other process. Configurations:\n ";

// Prints how many programs were needed to detect each planted fault. Fails if one is not detected.
int self_test() {
  bool all = true;
  for (int f = 1; f < static_cast<int>(Fault::count); ++f) {
    const auto fault = static_cast<Fault>(f);
    std::string kind;
    std::uint64_t index = 0;
    for (; index < 400 && kind.empty(); ++index) {
      const Case program = generate(99, index);
      // The last place is compared only where a program or configuration is exact.
      const std::string name = fault == Fault::last_place ? "linear_scan_exact" : "linear_scan";
      const std::string without = check(program, {name}).kind;
      if (!without.empty()) continue;
      kind = (fault == Fault::crashes ? isolated_check(program, {name}, {fault})
                                      : check(program, {name}, {fault}))
                 .kind;
    }
    std::cout << name_of(fault) << ": "
              << (kind.empty() ? "not found"
                               : "found as '" + kind + "' in program " + std::to_string(index - 1))
              << '\n';
    all = all && !kind.empty();
  }
  return all ? 0 : 1;
}

int replay(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("the file " + path + " cannot be opened");
  std::stringstream text;
  text << file.rdbuf();
  const Case program = from_text(text.str());
  std::vector<std::string> names;
  for (const Configuration& configuration : configurations()) names.emplace_back(configuration.name);
  std::cout << source(program);
  const Verdict verdict = check(program, names);
  std::cout << (verdict.kind.empty() ? "passes"
                                     : verdict.configuration + ": " + verdict.kind + ": " + verdict.text)
            << '\n';
  return verdict.kind.empty() ? 0 : 1;
}

int fuzz(const Settings& settings) {
  Tally tally;
  const Progress done = run_all(settings, tally);
  const auto programs = static_cast<double>(std::max<std::uint64_t>(1, done.checked));
  for (std::size_t i = 0; i < kFeatureCount; ++i) {
    std::cout << kFeatureNames[i] << ' ' << tally.features[i] << (i + 1 < kFeatureCount ? ", " : "\n");
  }
  std::cout << done.checked << " programs, " << tally.counts.runs << " runs, " << tally.counts.calls
            << " calls of sr (" << tally.counts.replayed << " replayed), " << tally.counts.threw
            << " programs threw (" << 100 * static_cast<double>(tally.counts.threw) / programs << " %), "
            << tally.not_compiled << " not valid, " << tally.counts.within_noise << " results within noise, "
            << tally.counts.dead_code << " exceptions of dead code, " << tally.counts.ignored << " ignored, "
            << done.failed << " failed; " << done.milliseconds_each() << " ms a program\n";
  return done.failed == 0 ? 0 : 1;
}

// Disables AMX in oneDNN. Its bfloat16 convolutions with padding are not deterministic there: the same call
// returns different values, and infinities (LibTorch 2.13, 8 channels of 4x4, kernel 2x2, stride [1, 3],
// padding [1, 0], dilation [1, 2]). The fuzzer needs an interpreter that repeats its results.
void leave_out_amx() {
  setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", /*overwrite=*/0);
}

int run_command(const std::vector<std::string>& arguments) {
  Settings settings;
  std::string replayed, exported;
  bool print = false, test = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    const auto value = [&] {
      if (i + 1 == arguments.size()) throw std::invalid_argument(option + " needs a value");
      return arguments[++i];
    };
    if (option == "--count")
      settings.count = std::stoull(value());
    else if (option == "--seed")
      settings.seed = std::stoull(value());
    else if (option == "--first")
      settings.first = std::stoull(value());
    else if (option == "--save")
      settings.save = value();
    else if (option == "--jobs")
      settings.jobs = std::stoi(value());
    else if (option == "--config")
      settings.configuration = value();
    else if (option == "--replay")
      replayed = value();
    else if (option == "--export")
      exported = value();
    else if (option == "--ignore")
      settings.ignored.push_back(value());
    else if (option == "--images")
      settings.theme = Theme::images;
    else if (option == "--verbose")
      settings.verbose = true;
    else if (option == "--self-test")
      test = true;
    else if (option == "--print") {
      settings.first = std::stoull(value());
      print = true;
    } else {
      std::cout << kUsage;
      for (const Configuration& configuration : configurations()) std::cout << ' ' << configuration.name;
      std::cout << '\n';
      return option == "--help" ? 0 : 2;
    }
  }
  if (test) return self_test();
  if (!replayed.empty()) return replay(replayed);
  if (!exported.empty()) {
    export_programs(settings.seed, settings.first, settings.count, exported);
    return 0;
  }
  if (print) {
    const Case program = generate(settings.seed, settings.first, settings.theme);
    std::cout << to_text(program) << source(program);
    return 0;
  }
  return fuzz(settings);
}

}  // namespace

}  // namespace sr::fuzz

int main(int argc, char** argv) try {
  sr::fuzz::leave_out_amx();
  at::set_num_threads(1);  // starts no threads, which a fork would lose
  return sr::fuzz::run_command({argv + 1, argv + argc});
} catch (const std::exception& error) {
  std::cerr << "sr_fuzz: " << error.what() << '\n';
  return 2;
}
