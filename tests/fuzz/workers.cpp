#include "fuzz/workers.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/random.hpp"
#include "fuzz/runner.hpp"
#include "fuzz/shrink.hpp"

namespace sr::fuzz {

namespace {

constexpr unsigned kSeconds = 60;  // a program takes milliseconds

// The one asked for, or the default and two others, chosen by seed and index.
std::vector<std::string> configurations_of(const Case& program, const Settings& settings) {
  if (!settings.configuration.empty()) return {settings.configuration};
  Random random(program.seed ^ 0xC0FFEE, program.index);
  std::vector<std::string> names = {std::string(configurations()[0].name)};
  while (names.size() < 3) {
    const std::string name(random.of(configurations()).name);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

bool passes(const Settings& settings, std::uint64_t index, Tally& tally) {
  const Case program = generate(settings.seed, index, settings.theme);
  const Verdict verdict =
      check(program, configurations_of(program, settings), {Fault::none, settings.ignored});
  tally.counts += verdict.counts;
  tally.not_compiled += verdict.kind == "does not compile" ? 1 : 0;
  for (std::size_t i = 0; i < kFeatureCount; ++i) tally.features[i] += program.features[i] ? 1 : 0;
  // The program may pass when it runs alone; then only this line says what was wrong.
  if (!verdict.kind.empty())
    std::cerr << "program " << index << ": " << verdict.configuration << ": " << verdict.kind << ": "
              << verdict.text << '\n';
  return verdict.kind.empty();
}

// Saves the shrunk program in its own file. Only the first few failures of one kind are shrunk.
class Reporter {
 public:
  explicit Reporter(const Settings& settings)
      : settings_(settings), options_{Fault::none, settings.ignored} {}

  void report(std::uint64_t index) {
    Case program = generate(settings_.seed, index, settings_.theme);
    Verdict verdict = isolated_check(program, configurations_of(program, settings_), options_);
    if (verdict.kind.empty()) {
      std::cout << "program " << index << " failed, but not when it ran alone\n";
      verdict = {"not alone", configurations_of(program, settings_)[0], "fails only after others"};
    } else {
      if (verdict.configuration.empty() || verdict.kind == "crash") {
        for (const std::string& name : configurations_of(program, settings_)) {
          const Verdict single = isolated_check(program, {name}, options_);
          if (single.kind == verdict.kind) verdict = single;
        }
      }
      program.configuration = verdict.configuration;
      if (++shrunk_[verdict.kind] <= 6) {
        program = shrink(program, [&](const Case& candidate) {
          const Verdict again = isolated_check(candidate, {}, options_);
          if (again.kind == verdict.kind) verdict.text = again.text;
          return again.kind == verdict.kind;
        });
      }
    }
    program.failure = verdict.configuration + ": " + verdict.kind + ": " + verdict.text;
    std::filesystem::create_directories(settings_.save);
    const std::string path =
        settings_.save + "/" + std::to_string(settings_.seed) + "_" + std::to_string(index) + ".txt";
    std::ofstream(path) << to_text(program);
    std::cout << path << ": " << program.failure.substr(0, 400) << '\n' << source(program) << std::flush;
  }

 private:
  const Settings& settings_;
  const CheckOptions options_;
  std::map<std::string, int> shrunk_;
};

}  // namespace

Verdict isolated_check(const Case& program, const std::vector<std::string>& names,
                       const CheckOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(20);
    const Verdict verdict = check(program, names, options);
    const std::string text =
        verdict.kind + '\n' + verdict.configuration + '\n' + verdict.text.substr(0, 4000);
    const bool all = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(all ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t size = 0; (size = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const std::string asked = names.empty() ? program.configuration : names[0];
  if (WIFSIGNALED(status)) return {"crash", asked, "signal " + std::to_string(WTERMSIG(status))};
  Verdict verdict;
  std::istringstream lines(text);
  std::getline(lines, verdict.kind);
  std::getline(lines, verdict.configuration);
  std::getline(lines, verdict.text, '\0');
  return verdict;
}

Tally& Tally::operator+=(const Tally& part) {
  not_compiled += part.not_compiled;
  counts += part.counts;
  for (std::size_t i = 0; i < kFeatureCount; ++i) features[i] += part.features[i];
  return *this;
}

Progress run_all(const Settings& settings, Tally& total) {
  Reporter reporter(settings);
  Checks<Tally> checks{
      .first = settings.first, .count = settings.count, .jobs = settings.jobs, .seconds = kSeconds};
  checks.passes = [&](std::uint64_t index, Tally& tally) { return passes(settings, index, tally); };
  checks.failed = [&](std::uint64_t index) { reporter.report(index); };
  checks.crashed = [&](std::uint64_t index, int) {
    std::cout << "program " << index << " of seed " << settings.seed << " ended its process\n";
    reporter.report(index);
  };
  if (settings.verbose) {
    checks.progress = [](const Progress& progress) {
      std::cout << progress.checked << " programs, " << progress.failed << " failed, "
                << progress.milliseconds_each() << " ms each\n"
                << std::flush;
    };
  }
  return run_in_processes(checks, total);
}

}  // namespace sr::fuzz
