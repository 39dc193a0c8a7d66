// Runs one program in sr and in the interpreter, and compares everything that a caller can observe, run by
// run.
#pragma once

#include <string>
#include <vector>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// A fault that the self-test plants.
enum class Fault {
  none,
  wrong_element,
  last_place,
  alias_of_input,
  stale_output,
  changes_input,
  no_exception,
  lost_alias,
  copied_duplicate,
  other_strides,
  other_dtype,
  changes_weight,
  changes_kept_output,
  holds_input,
  throws,
  crashes,
  count
};

struct Counts {
  std::uint64_t runs = 0, threw = 0, calls = 0, replayed = 0;
  std::uint64_t within_noise = 0, dead_code = 0, ignored = 0;  // differences that are not failures

  Counts& operator+=(const Counts& other) {
    runs += other.runs;
    threw += other.threw;
    calls += other.calls;
    replayed += other.replayed;
    within_noise += other.within_noise;
    dead_code += other.dead_code;
    ignored += other.ignored;
    return *this;
  }
};

struct Verdict {
  std::string kind;           // empty if nothing was found
  std::string configuration;  // in which it was found
  std::string text;
  Counts counts = {};
};

struct CheckOptions {
  Fault fault = Fault::none;
  std::vector<std::string> ignored = {};  // kinds of known failures, which would hide others
};

// In these configurations, or in the one that the program names.
Verdict check(const Case& program, const std::vector<std::string>& configurations,
              const CheckOptions& options = {});

}  // namespace sr::fuzz
