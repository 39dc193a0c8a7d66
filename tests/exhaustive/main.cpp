// Every pointwise vector op over all 2^32 floats, with every instruction set that this CPU has.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <regex>
#include <string>
#include <thread>

#include "exhaustive/bounds.hpp"
#include "exhaustive/check.hpp"
#include "exhaustive/report.hpp"
#include "support/kernel_sets.hpp"

namespace sr::exhaustive {

namespace {

int run(const std::regex& ops, const Choice& choice, unsigned jobs) {
  const Sets sets = test::kernel_sets();
  std::size_t checked = 0, failed = 0;
  print_head(std::cout, sets);
  for (const Row& row : kRows) {
    if (!std::regex_match(row.name, ops)) continue;
    const Verdict verdict = check(row, sets, Inputs(row.operands, choice), jobs);
    const bool ok = judge(std::cerr, row, sets, verdict);
    print_row(std::cout, row, verdict, ok);
    ++checked;
    failed += ok ? 0 : 1;
  }
  if (checked == 0) {
    std::cerr << "sr_exhaustive: no vector op has a name that --op matches as a whole.\n";
    return 2;
  }
  std::cout << checked << " vector ops, " << failed << " of them not within what is stated\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace

}  // namespace sr::exhaustive

int main(int argc, char** argv) try {
  sr::exhaustive::Choice choice{.stride = 1, .samples = 10'000'000, .seed = 1};
  std::string op = ".*";
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  CLI::App app{
      "Runs every pointwise vector op on all 2^32 floats, those of several operands on samples, with every "
      "instruction set of this CPU, and prints the largest errors. Exit code 1: one is above its bound."};
  app.add_option("--op", op, "Only vector ops whose whole name matches this regular expression");
  app.add_option("--jobs", jobs, "Threads")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--stride", choice.stride, "One operand: one of so many patterns, chosen by the seed")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->capture_default_str();
  app.add_option("--samples", choice.samples, "Several operands: random ones besides all special values")
      ->capture_default_str();
  app.add_option("--seed", choice.seed, "Of what is random")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::cerr << "sr_exhaustive: " << error.what() << ".\n";
    return 2;
  }
  return sr::exhaustive::run(std::regex(op), choice, jobs);
} catch (const std::regex_error& error) {
  std::cerr << "sr_exhaustive: --op is no regular expression: " << error.what() << ".\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << "sr_exhaustive: " << error.what() << '\n';
  return 2;
}
