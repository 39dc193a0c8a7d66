#include "fuzz/workers.hpp"

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/shrink.hpp"

namespace sr::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kChunk = 500;
constexpr unsigned kSeconds = 60;  // a program takes milliseconds

// Shared by parent and child. Failures beyond the last place are only counted.
struct Shared {
  std::uint64_t current = 0, next = 0;  // `next`: where another child continues after a crash
  std::size_t failures = 0;
  std::array<std::uint64_t, 64> failed = {};
  Tally tally;
};

template <class T>
T* share() {
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return new (memory) T();
}

std::vector<std::string> configurations_of(const Case& program, const Settings& settings) {
  if (!settings.configuration.empty()) return {settings.configuration};
  return choose_configurations(program, 3);
}

void add(Tally& total, const Tally& part) {
  total.programs += part.programs;
  total.not_compiled += part.not_compiled;
  total.failed += part.failed;
  total.counts += part.counts;
  for (std::size_t i = 0; i < kFeatureCount; ++i) total.features[i] += part.features[i];
}

void check_range(const Settings& settings, std::uint64_t end, Shared& shared) {
  while (shared.next < end) {
    shared.current = shared.next++;
    alarm(kSeconds);
    const Case program = generate(settings.seed, shared.current);
    const Verdict verdict =
        check(program, configurations_of(program, settings), {Fault::none, settings.ignored});
    Tally& tally = shared.tally;
    ++tally.programs;
    tally.counts += verdict.counts;
    tally.not_compiled += verdict.kind == "does not compile" ? 1 : 0;
    for (std::size_t i = 0; i < kFeatureCount; ++i) tally.features[i] += program.features[i] ? 1 : 0;
    if (verdict.kind.empty()) continue;
    ++tally.failed;
    if (shared.failures < shared.failed.size()) shared.failed[shared.failures++] = shared.current;
  }
  alarm(0);
}

// Saves the shrunk program in a file of its own. Only the first few failures of one kind are shrunk.
class Reporter {
 public:
  explicit Reporter(const Settings& settings)
      : settings_(settings), options_{Fault::none, settings.ignored} {}

  void report(std::uint64_t index) {
    Case program = generate(settings_.seed, index);
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

struct Worker {
  Shared* shared;
  std::uint64_t end = 0;
  pid_t process = 0;
};

void start(Worker& worker, const Settings& settings) {
  std::cout.flush();
  worker.process = fork();
  if (worker.process < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (worker.process != 0) return;
  check_range(settings, worker.end, *worker.shared);
  _exit(0);
}

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

Tally run_all(const Settings& settings) {
  Reporter reporter(settings);
  Tally total;
  const std::uint64_t end = settings.first + settings.count;
  std::uint64_t next = settings.first;
  if (settings.jobs == 0) {
    Shared shared;
    shared.next = next;
    check_range(settings, end, shared);
    for (std::size_t i = 0; i < shared.failures; ++i) reporter.report(shared.failed[i]);
    return shared.tally;
  }
  std::vector<Worker> workers;
  const auto begin_chunk = [&](Worker& worker) {
    worker.process = 0;
    if (next >= end) return;
    *worker.shared = Shared{};
    worker.shared->next = next;
    worker.end = next = std::min(end, next + kChunk);
    start(worker, settings);
  };
  for (int i = 0; i < settings.jobs; ++i) {
    workers.push_back({share<Shared>()});
    begin_chunk(workers.back());
  }
  const auto started = Clock::now();
  auto said = started;
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, 0)) > 0;) {
    for (Worker& worker : workers) {
      if (worker.process != ended) continue;
      if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
        const std::uint64_t crashed = worker.shared->current;
        ++worker.shared->tally.programs;
        ++worker.shared->tally.failed;
        start(worker, settings);  // continues with the next program
        std::cout << "program " << crashed << " of seed " << settings.seed << " ended its process\n";
        reporter.report(crashed);
        continue;
      }
      const Shared done = *worker.shared;
      begin_chunk(worker);
      add(total, done.tally);
      for (std::size_t i = 0; i < done.failures; ++i) reporter.report(done.failed[i]);
    }
    const std::chrono::duration<double> passed = Clock::now() - started;
    if (settings.verbose && Clock::now() - said > std::chrono::seconds(10)) {
      said = Clock::now();
      std::cout << total.programs << " programs, " << total.failed << " failed, "
                << 1000 * passed.count() / static_cast<double>(std::max<std::uint64_t>(1, total.programs))
                << " ms each\n"
                << std::flush;
    }
  }
  return total;
}

}  // namespace sr::fuzz
