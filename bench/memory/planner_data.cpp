// Planners on lifetimes from files: those of our own models (bench/plans) or of a public collection.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sr/memory/planners.hpp>

#include "../csv.hpp"
#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"

namespace sr::bench {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> csv_files(const std::string& directory) {
  if (!fs::is_directory(directory)) throw std::runtime_error("'" + directory + "' is not a directory.");
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  if (files.empty()) throw std::runtime_error("There is no .csv file in '" + directory + "'.");
  std::ranges::sort(files);
  return files;
}

// "1.000  0.4": peak over lower bound, microseconds a plan. An invalid layout ends the program.
template <memory::Planner P>
void add_columns(Row& row, const std::vector<memory::Request>& requests, memory::Bytes bound) {
  const memory::Layout layout = P::plan(requests);
  if (const auto fault = memory::validate(requests, layout))
    throw std::runtime_error(row[0] + ": the layout of " + std::string(P::name) + " is wrong: " + *fault);
  const Many plan = [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) P::plan(requests);
  };
  const std::int64_t calls = calls_in(plan, 2e-3);
  std::vector<double> times;
  for (int round = 0; round < 9; ++round)
    times.push_back(nanoseconds_of(plan, calls) / static_cast<double>(calls));
  const double peak = static_cast<double>(layout.total);
  row.push_back(bound == 0 ? "-" : number(peak / static_cast<double>(bound), 3));
  row.push_back(number(median_of(times) * 1e-3, 1));
}

void compare_planners(const std::string& directory, memory::Bytes alignment) {
  Row head{"lifetimes", "tensors", "lower bound B"};
  for (const std::string_view name : memory::planner_names()) {
    head.emplace_back(name);
    head.emplace_back("us");
  }
  std::vector<Row> rows{head};
  for (const fs::path& path : csv_files(directory)) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("The file '" + path.string() + "' cannot be opened.");
    const std::vector<memory::Request> requests = read_requests(in, path.string(), alignment);
    const memory::Bytes bound = memory::lower_bound(requests);
    Row& row =
        rows.emplace_back(Row{path.stem().string(), std::to_string(requests.size()), std::to_string(bound)});
    for (const std::string_view name : memory::planner_names()) {
      memory::with_planner(
          name, [&](auto planner) { add_columns<typename decltype(planner)::type>(row, requests, bound); });
    }
  }
  std::cout << "By planner: peak over lower bound (1 is perfect), and the time of a plan.\n";
  print_table(std::cout, rows);
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  std::string traces;
  sr::memory::Bytes alignment = sr::memory::kAlignment;
  CLI::App app("Memory planners on lifetimes from files", "bench_planner_data");
  app.add_option("--traces", traces, "Directory of files with the columns id,lower,upper,size")->required();
  app.add_option("--alignment", alignment, "Of every tensor; collections count bytes: 1")
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32, 64, 128, 256, 4096}));
  return sr::bench::run_program(app, argc, argv, [&] { sr::bench::compare_planners(traces, alignment); });
}
