// The roofline: each kernel of sr against the limits of this machine, in one process and one thread.
#include "roofline.hpp"

#include <iostream>
#include <regex>
#include <stdexcept>

#include "../output.hpp"
#include "../program.hpp"
#include "blas.hpp"

namespace sr::bench {
namespace {

// The cases with their references, measured in turns.
std::vector<Measured> measure(const std::vector<Case>& cases, const Peaks& peaks,
                              const RooflineOptions& options) {
  std::vector<Many> many;
  for (const Case& row : cases) {
    if (row.check) row.check();
    many.push_back(row.many);
    for (const Reference& other : row.references) many.push_back(other.many);
  }
  const auto times = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
  std::vector<Measured> measured;
  std::size_t at = 0;
  for (const Case& row : cases) {
    const auto& own = times[at++];
    Measured& result = measured.emplace_back(Measured{
        row.kernel, row.size, row.elements, median_of(own), row.work, bound_of(row.work, peaks), {}});
    for (const Reference& other : row.references) {
      result.references.push_back({other.name, median_of(times[at]), median_ratio(times[at], own)});
      ++at;
    }
  }
  return measured;
}

// Groups that are timed in turns. They are made one by one, since together they would not fit into memory.
std::vector<std::function<std::vector<Case>()>> groups() {
  const std::vector<std::string> few{"add", "add_scaled", "relu", "exp", "tanh", "log1p"};
  std::vector<std::function<std::vector<Case>()>> all{[] { return vector_op_cases(512); },
                                                      [=] { return vector_op_cases(65536, few); },
                                                      [=] { return vector_op_cases(4 << 20, few); },
                                                      row_cases,
                                                      copy_cases,
                                                      dot_cases};
  constexpr std::pair<std::size_t, std::size_t> shapes[] = {{64, 64},    {128, 64},   {512, 512},
                                                            {1536, 384}, {384, 1536}, {512, 415}};
  for (const auto& [n, k] : shapes) {
    for (const std::size_t m : {1, 2, 4, 8, 20, 32, 64})
      all.push_back([m, n = n, k = k] { return std::vector{product_case(m, n, k)}; });
  }
  for (const std::size_t m : {1, 8, 32}) {
    all.push_back([m] { return std::vector{bfloat16_case(m, 512, 512)}; });
    all.push_back([m] { return std::vector{float16_case(m, 512, 512)}; });
  }
  for (const auto& [n, k] : {std::pair<std::size_t, std::size_t>{1536, 384}, {384, 1536}, {512, 512}}) {
    for (const std::size_t m : {1, 8, 32, 128})
      all.push_back([m, n = n, k = k] { return std::vector{int8_case(m, n, k)}; });
  }
  return all;
}

void run(const RooflineOptions& options) {
  blas::use_one_thread();
  const std::regex filter(options.filter);
  stay_on_fastest_processor();
  const Peaks peaks = measure_peaks(options);
  std::vector<Measured> all;
  for (const auto& make : groups()) {
    std::vector<Case> cases = make();
    std::erase_if(cases,
                  [&](const Case& row) { return !std::regex_search(row.kernel + " " + row.size, filter); });
    for (Measured& row : measure(cases, peaks, options)) all.push_back(std::move(row));
  }
  if (all.empty()) throw std::runtime_error("No kernel and size is found by '" + options.filter + "'.");
  write_terminal(std::cout, peaks, all);
  if (!options.csv.empty()) write_file(options.csv, [&](std::ostream& out) { write_csv(out, all); });
  if (!options.markdown.empty())
    write_file(options.markdown, [&](std::ostream& out) { write_markdown(out, peaks, all, options); });
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  sr::bench::RooflineOptions options;
  CLI::App app("Every kernel against the measured peaks of this machine, products also against LibTorch's",
               "bench_roofline");
  app.add_option("--filter", options.filter, "Rows of which this regular expression finds kernel and size");
  sr::bench::add_timing(app, options, "a kernel");
  app.add_option("--csv", options.csv, "Write the rows to this file");
  app.add_option("--markdown", options.markdown, "Write the tables as a page to this file");
  return sr::bench::run_program(app, argc, argv, [&] { sr::bench::run(options); });
}
