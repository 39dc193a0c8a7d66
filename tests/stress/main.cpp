// Many threads, mixed shapes and dtypes, calls that throw or are cancelled, modules made and destroyed
// meanwhile, beside threads that keep the processors busy, and in children of fork(). Every answer must equal
// a serial run's, no call may hang, and neither memory nor threads may be left.
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <malloc.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <sr/base/intra_op_width.hpp>
#include <sr/base/processors.hpp>
#include <sr/base/team.hpp>

#include "stress/workload.hpp"

namespace sr::stress {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double seconds = 600;
  std::uint64_t calls = 0;  // 0: as many as there is time for
  int threads = 32;
  int burners = 1;
  int children = 1;  // after each part
  unsigned seed = 1;
};

constexpr unsigned kParts = 4;  // the growth of the first part is what threads and LibTorch keep

// Ends the program if no call has ended for a minute.
class Watchdog {
 public:
  explicit Watchdog(const Workload& workload)
      : thread_([&workload](const std::stop_token& stop) {
          std::uint64_t seen = 0;
          auto since = Clock::now();
          while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const std::uint64_t calls = workload.tally().calls;
            if (calls != seen) since = Clock::now();
            seen = calls;
            if (Clock::now() - since > std::chrono::minutes(1)) {
              std::cerr << "sr_stress: nothing has moved for a minute, after " << calls << " calls\n";
              std::abort();
            }
          }
        }) {}

 private:
  std::jthread thread_;
};

std::minstd_rand random_of(unsigned seed, int thread) {
  return std::minstd_rand(seed * 1000 + static_cast<unsigned>(thread));
}

// Calls the modules that the parent has called, from new threads. Returns the number of wrong answers.
std::uint64_t call_in_child(Workload& workload, unsigned seed) {
  constexpr int kThreads = 4, kSteps = 200;
  const std::uint64_t before = workload.tally().wrong;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        const IntraOpWidth width(1);  // at::set_num_threads may throw in a child, where its pool is gone
        std::minstd_rand random = random_of(seed, thread);
        for (int i = 0; i < kSteps; ++i) workload.step(random);
      });
    }
  }
  return workload.tally().wrong - before;
}

// True if a child of fork() gives right answers in less than a minute.
bool child_is_right(Workload& workload, unsigned seed) {
  const pid_t child = fork();
  if (child == 0) _exit(call_in_child(workload, seed) == 0 ? 0 : 1);
  if (child < 0) throw std::runtime_error("The process cannot fork.");
  const auto end = Clock::now() + std::chrono::minutes(1);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > end) {
      std::cerr << "sr_stress: the child " << child << " hangs\n";
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Threads that do nothing but take processors from the others.
std::vector<std::jthread> burn(int count) {
  std::vector<std::jthread> burners;
  for (int i = 0; i < count; ++i) {
    burners.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
      }
    });
  }
  return burners;
}

// The number of wrong answers.
std::uint64_t run(const std::vector<Program>& programs, const Options& options, unsigned part) {
  Workload workload(programs);
  const unsigned seed = options.seed + part;
  {
    const Watchdog watchdog(workload);
    const auto end = Clock::now() + std::chrono::duration<double>(options.seconds / kParts);
    const std::uint64_t most = options.calls == 0 ? UINT64_MAX : options.calls / kParts;
    const std::vector<std::jthread> burners = burn(options.burners);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < options.threads; ++thread) {
      threads.emplace_back([&, thread] {
        at::set_num_threads(1);
        std::minstd_rand random = random_of(seed, thread);
        while (Clock::now() < end && workload.tally().calls < most) workload.step(random);
      });
    }
  }
  std::uint64_t wrong_children = 0;
  for (int child = 0; child < options.children; ++child)
    wrong_children += child_is_right(workload, seed + static_cast<unsigned>(child)) ? 0 : 1;
  const Tally& tally = workload.tally();
  std::cout << tally.calls << " calls by " << options.threads << " threads beside " << options.burners
            << " that burn, " << tally.thrown << " threw, " << tally.cancelled << " were cancelled, "
            << tally.modules << " modules made meanwhile, " << tally.wrong << " wrong; " << wrong_children
            << " of " << options.children << " children wrong" << std::endl;
  return tally.wrong + wrong_children;
}

// Bytes in use after all modules are destroyed.
std::size_t bytes_in_use() {
  return mallinfo2().uordblks;
}

std::size_t threads_of_process() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

int stress(const Options& options) {
  const std::vector<Program> programs = make_programs();
  std::uint64_t wrong = 0;
  std::vector<std::size_t> bytes, threads;
  for (unsigned part = 0; part < kParts; ++part) {
    wrong += run(programs, options, part);
    bytes.push_back(bytes_in_use());
    threads.push_back(threads_of_process());
  }
  std::size_t held = 0;
  for (const Program& program : programs) {
    for (const Case& one : program.cases) {
      for (const c10::IValue& arg : one.args) held += arg.isTensor() && arg.use_count() != 1 ? 1 : 0;
    }
  }
  const int helpers = Team::of_process().helpers();
  // Allows for a module or two, since caches of threads grow and shrink.
  constexpr std::size_t kSlack = 4 << 20;
  const std::size_t grown = bytes.back() > bytes[1] ? bytes.back() - bytes[1] : 0;
  std::cout << "in use after each part:";
  for (const std::size_t count : bytes) std::cout << ' ' << count / 1024 << " KiB";
  std::cout << "; threads:";
  for (const std::size_t count : threads) std::cout << ' ' << count;
  std::cout << "; arguments still held: " << held << "; helpers of the team: " << helpers << '\n';
  if (grown > kSlack) std::cerr << "sr_stress: memory in use grew by " << grown << " bytes\n";
  const bool shares = processors_allowed() == 1 || helpers > 0;
  if (!shares) std::cerr << "sr_stress: no step was shared\n";
  const bool left_threads = threads.back() > threads[1];
  if (left_threads) std::cerr << "sr_stress: threads were left\n";
  return wrong == 0 && held == 0 && grown <= kSlack && !left_threads && shares ? 0 : 1;
}

}  // namespace
}  // namespace sr::stress

int main(int argc, char** argv) {
  sr::stress::Options options;
  CLI::App app("Calls modules from many threads while others replace them", "sr_stress");
  app.add_option("--seconds", options.seconds, "How long")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--calls", options.calls, "At most so many; 0: as many as there is time for")
      ->capture_default_str();
  app.add_option("--burners", options.burners, "Threads that keep processors busy")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--children", options.children, "Children of fork() after each of the four parts")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Callers")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seed", options.seed, "Of what is random")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return sr::stress::stress(options);
  } catch (const std::exception& error) {
    std::cerr << "sr_stress: " << error.what() << '\n';
    return 1;
  }
}
