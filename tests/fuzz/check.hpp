// One program against the interpreter: everything a caller can see, run after run.
#pragma once

#include <string>
#include <vector>

#include "fuzz/program.hpp"

namespace sr::fuzz {

// What the self-test breaks on purpose.
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
  std::uint64_t within_noise = 0, dead_code = 0, ignored = 0;  // differences that are no failures

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
  std::string kind;           // empty: nothing was found
  std::string configuration;  // where
  std::string text;
  Counts counts = {};
};

struct CheckOptions {
  Fault fault = Fault::none;
  std::vector<std::string> ignored = {};  // kinds of failure that are known and would hide others
};

// In these configurations, or in the one the program names.
Verdict check(const Case& program, const std::vector<std::string>& configurations,
              const CheckOptions& options = {});
// The default and some others, as seed and index choose.
std::vector<std::string> choose_configurations(const Case& program, std::size_t count);

}  // namespace sr::fuzz
