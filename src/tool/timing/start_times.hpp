// What a process does before the first answer, and how long each part takes.
#pragma once

#include <chrono>
#include <ctime>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace sr::tool {

class StartTimes {
 public:
  // Must be made at the beginning of main. What the process has done before is the loading of its libraries.
  StartTimes() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    add("load the libraries, most of it LibTorch (processor time)",
        static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec));
  }

  // Records the time since the previous note() or skip() under this name.
  void note(std::string part) {
    const Clock::time_point now = Clock::now();
    add(std::move(part), std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }

  // Restarts the clock, so that the time until now is not recorded.
  void skip() { last_ = Clock::now(); }

  void print(std::ostream& out) const {
    for (const auto& [part, seconds] : parts_) {
      const std::string number = std::to_string(1e3 * seconds);  // with six digits
      out << std::string(number.size() < 14 ? 14 - number.size() : 0, ' ')
          << number.substr(0, number.size() - 3) << " ms  " << part << '\n';
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void add(std::string part, double seconds) { parts_.emplace_back(std::move(part), seconds); }

  std::vector<std::pair<std::string, double>> parts_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace sr::tool
