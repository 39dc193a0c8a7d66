// What a program needs to be measured by worker/main.py: under callgrind it counts only the statement,
// otherwise it prints nanoseconds a call.
#pragma once

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <valgrind/callgrind.h>

namespace sr::counts {

// Options are pairs, --name value: --number, --number-warmup, --repeats and --number-threads, as in programs
// that torch.utils.benchmark compiles, and --seconds, the duration of timing outside of callgrind.
class Driver {
 public:
  Driver(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) options_[argv[i]] = argv[i + 1];
    if (argc % 2 == 0)
      throw std::runtime_error(std::string("the option ") + argv[argc - 1] + " has no value");
  }

  const std::string& option(const std::string& name) const {
    const auto found = options_.find(name);
    if (found == options_.end()) throw std::runtime_error("the option " + name + " is missing");
    return found->second;
  }

  int threads() const { return static_cast<int>(number("--number-threads")); }

  // `many(n)` runs the statement n times in its own loop, with nothing else between the calls.
  template <class Many>
  void run(const Many& many) const {
    // Counting begins here: start-up runs uncounted, which is several times faster.
    CALLGRIND_START_INSTRUMENTATION;
    many(number("--number-warmup"));
    if (RUNNING_ON_VALGRIND == 0) return time(many);
    const std::int64_t calls = number("--number"), repeats = number("--repeats");
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
      CALLGRIND_TOGGLE_COLLECT;
      many(calls);
      CALLGRIND_TOGGLE_COLLECT;
      CALLGRIND_DUMP_STATS;  // and restarts at zero
    }
  }

 private:
  std::int64_t number(const std::string& name) const { return std::stoll(option(name)); }

  template <class Many>
  void time(const Many& many) const {
    using Clock = std::chrono::steady_clock;
    const double seconds = std::stod(option("--seconds"));
    std::int64_t calls = 1;
    while (true) {
      const Clock::time_point start = Clock::now();
      many(calls);
      const std::chrono::duration<double> taken = Clock::now() - start;
      if (taken.count() >= seconds) {
        std::cout << taken.count() * 1e9 / static_cast<double>(calls) << '\n';
        return;
      }
      calls *= 2;
    }
  }

  std::map<std::string, std::string> options_;
};

// A main function that prints exceptions in one line, since a crash under valgrind is hard to read.
template <class Body>
int drive(int argc, char** argv, const Body& body) {
  try {
    body(Driver(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace sr::counts
