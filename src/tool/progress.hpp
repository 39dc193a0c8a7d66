// What a verb is doing, for a person who waits.
#pragma once

#include <iostream>
#include <string>
#include <unistd.h>
#include <utility>

namespace sr::tool {

// Writes to stderr, into one line where that is a terminal, which it removes at the end. Elsewhere `show`
// writes a line, and `show_here` nothing.
class Progress {
 public:
  explicit Progress(std::string verb) : verb_(std::move(verb)), terminal_(isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (open_) std::cerr << kBegin << std::flush;
  }

  void show(const std::string& text) {
    std::cerr << (terminal_ ? kBegin : "") << "sr " << verb_ << ": " << text << (terminal_ ? "" : "\n")
              << std::flush;
    open_ = terminal_;
  }
  void show_here(const std::string& text) {
    if (terminal_) show(text);
  }

 private:
  static constexpr const char* kBegin = "\r\x1b[K";

  std::string verb_;
  bool terminal_, open_ = false;
};

}  // namespace sr::tool
