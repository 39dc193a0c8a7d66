// Many threads, mixed shapes and dtypes, calls that throw or are cancelled, modules made and destroyed
// meanwhile. Every answer must equal a serial run's, no call may hang, and no memory may leak.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <malloc.h>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "stress/workload.hpp"

namespace sr::stress {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double seconds = 600;
  int threads = 32;
  unsigned seed = 1;
};

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

// The number of wrong answers.
std::uint64_t run(const std::vector<Program>& programs, const Options& options, double seconds,
                  unsigned seed) {
  Workload workload(programs);
  const Watchdog watchdog(workload);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < options.threads; ++thread) {
      threads.emplace_back([&, thread] {
        at::set_num_threads(1);
        std::minstd_rand random(seed * 1000 + static_cast<unsigned>(thread));
        while (Clock::now() < end) workload.step(random);
      });
    }
  }
  const Tally& tally = workload.tally();
  std::cout << tally.calls << " calls by " << options.threads << " threads, " << tally.thrown << " threw, "
            << tally.cancelled << " were cancelled, " << tally.modules << " modules made meanwhile, "
            << tally.wrong << " wrong" << std::endl;
  return tally.wrong;
}

// Bytes in use after all modules are destroyed.
std::size_t bytes_in_use() {
  return mallinfo2().uordblks;
}

int stress(const Options& options) {
  const std::vector<Program> programs = make_programs();
  std::uint64_t wrong = 0;
  std::vector<std::size_t> bytes;
  constexpr int kParts = 4;  // the growth of the first part is what threads and LibTorch keep
  for (unsigned part = 0; part < kParts; ++part) {
    wrong += run(programs, options, options.seconds / kParts, options.seed + part);
    bytes.push_back(bytes_in_use());
  }
  std::size_t held = 0;
  for (const Program& program : programs) {
    for (const Case& one : program.cases) {
      for (const c10::IValue& arg : one.args) held += arg.isTensor() && arg.use_count() != 1 ? 1 : 0;
    }
  }
  // Allows for a module or two, since caches of threads grow and shrink.
  constexpr std::size_t kSlack = 4 << 20;
  const std::size_t grown = bytes.back() > bytes[1] ? bytes.back() - bytes[1] : 0;
  std::cout << "in use after each part:";
  for (const std::size_t count : bytes) std::cout << ' ' << count / 1024 << " KiB";
  std::cout << "; arguments still held: " << held << '\n';
  if (grown > kSlack) std::cerr << "sr_stress: memory in use grew by " << grown << " bytes\n";
  return wrong == 0 && held == 0 && grown <= kSlack ? 0 : 1;
}

}  // namespace
}  // namespace sr::stress

int main(int argc, char** argv) {
  sr::stress::Options options;
  CLI::App app("Calls modules from many threads while others replace them", "sr_stress");
  app.add_option("--seconds", options.seconds, "How long")->check(CLI::PositiveNumber)->capture_default_str();
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
