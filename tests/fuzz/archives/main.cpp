// The fuzzer of archives: damaged files of torch.jit.save and torch.export.save are loaded, or refused with
// an error of sr, within seconds and a few times the memory of the intact file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/Parallel.h>

#include <sr/frontend/archive/archive_bytes.hpp>

#include "fuzz/archives/loading.hpp"
#include "fuzz/archives/mutants.hpp"
#include "fuzz/processes.hpp"

namespace sr::fuzz {

namespace {

struct Settings {
  std::uint64_t count = 1'000'000, number = 1, first = 0;
  int jobs = 1;
  std::string seeds, save = "build/fuzz/archives", replayed;
  bool verbose = false;
};

struct Tally {
  std::uint64_t loaded = 0, refused = 0;

  Tally& operator+=(const Tally& part) {
    loaded += part.loaded;
    refused += part.refused;
    return *this;
  }
};

class Fuzzer {
 public:
  explicit Fuzzer(const Settings& settings) : settings_(settings), seeds_(seeds_in(settings.seeds)) {
    for (const Seed& seed : seeds_) {
      constexpr auto kAny = std::numeric_limits<std::int64_t>::max();
      load(seed.bytes, kAny);  // LibTorch keeps what the first load of a kind makes
      const Loading intact = load(seed.bytes, kAny);
      if (intact.ending != Ending::loaded)
        throw std::runtime_error("the seed " + seed.name + " is not loaded: " + intact.message);
      peaks_[seed.name] = intact.peak_bytes;
      if (settings.verbose) {
        std::cout << seed.name << ": " << seed.bytes.size() << " bytes, " << intact.peak_bytes
                  << " of heap to load it\n";
      }
    }
  }

  int run() const {
    Checks<Tally> checks{
        .first = settings_.first, .count = settings_.count, .jobs = settings_.jobs, .seconds = 5};
    checks.passes = [this](std::uint64_t index, Tally& tally) {
      const Ending ending = loading_of(mutant(index)).ending;
      tally.loaded += ending == Ending::loaded ? 1 : 0;
      tally.refused += ending == Ending::refused ? 1 : 0;
      return ending != Ending::failed;
    };
    checks.failed = [this](std::uint64_t index) { report(index, loading_of(mutant(index)).message); };
    checks.crashed = [this](std::uint64_t index, int signal) {
      report(index, signal == SIGPROF || signal == SIGALRM
                        ? "took more than five seconds"
                        : "ended its process, signal " + std::to_string(signal));
    };
    if (settings_.verbose) {
      checks.progress = [this](const Progress& progress) {
        std::cout << progress.checked << " of " << settings_.count << " archives, " << progress.failed
                  << " failed, " << progress.milliseconds_each() << " ms each\n"
                  << std::flush;
      };
    }
    Tally tally;
    const Progress done = run_in_processes(checks, tally);
    std::cout << done.checked << " damaged archives: " << tally.loaded << " loaded, " << tally.refused
              << " refused, " << done.failed << " failed; " << done.milliseconds_each() << " ms each\n";
    return done.failed == 0 ? 0 : 1;
  }

  // Writes a damaged archive into a file, and returns its path.
  std::string save(std::uint64_t index) const {
    const Mutant saved = mutant(index);
    std::filesystem::create_directories(settings_.save);
    const std::string path = settings_.save + "/" + std::to_string(settings_.number) + "_" +
                             std::to_string(index) + "_" + saved.seed->name;
    std::ofstream(path, std::ios::binary) << saved.bytes;
    return path;
  }

 private:
  Mutant mutant(std::uint64_t index) const { return mutant_of(seeds_, settings_.number, index); }

  Loading loading_of(const Mutant& mutant) const {
    return load(mutant.bytes, allowance(mutant.bytes.size(), peaks_.at(mutant.seed->name)));
  }

  void report(std::uint64_t index, const std::string& what) const {
    std::cout << save(index) << ": " << what.substr(0, 600) << '\n' << std::flush;
  }

  const Settings& settings_;
  const std::vector<Seed> seeds_;
  std::map<std::string, std::int64_t> peaks_;
};

// Loads a file, or all in a folder.
int replay(const std::string& path) {
  std::vector<std::filesystem::path> files{path};
  if (std::filesystem::is_directory(path))
    files.assign(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
  std::ranges::sort(files);
  bool failed = files.empty();
  for (const std::filesystem::path& file : files) {
    std::cout << file.filename().string() << ": " << std::flush;
    const Loading loading = load(sr::detail::read_file(file), std::numeric_limits<std::int64_t>::max());
    constexpr std::string_view kNames[] = {"loaded", "refused", "failed"};
    std::cout << kNames[static_cast<int>(loading.ending)] << ", " << loading.peak_bytes
              << " bytes of heap: " << loading.message << '\n';
    failed = failed || loading.ending == Ending::failed;
  }
  return failed ? 1 : 0;
}

int run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Loads damaged archives of torch.jit.save and torch.export.save."};
  app.add_option("--seeds", settings.seeds, "the folder of the archives that are damaged")->required();
  app.add_option("--count", settings.count, "how many")->capture_default_str();
  app.add_option("--seed", settings.number, "of the random numbers")->capture_default_str();
  app.add_option("--first", settings.first, "index of the first")->capture_default_str();
  app.add_option("--jobs", settings.jobs, "processes at a time; 0: all in this one")->capture_default_str();
  app.add_option("--save", settings.save, "the folder for archives that fail")->capture_default_str();
  app.add_option("--replay", settings.replayed, "instead: load this file, or all in this folder");
  const CLI::Option* print =
      app.add_option("--print", settings.first, "instead: save the archive of this index");
  app.add_flag("--verbose", settings.verbose, "say how far it is");
  CLI11_PARSE(app, argc, argv);
  if (!settings.replayed.empty()) return replay(settings.replayed);
  const Fuzzer fuzzer(settings);
  if (print->count() == 0) return fuzzer.run();
  std::cout << fuzzer.save(settings.first) << '\n';
  return 0;
}

}  // namespace

}  // namespace sr::fuzz

int main(int argc, char** argv) try {
  at::set_num_threads(1);  // starts no threads, which a fork would lose
  return sr::fuzz::run(argc, argv);
} catch (const std::exception& error) {
  std::cerr << "sr_fuzz_archives: " << error.what() << '\n';
  return 2;
}
