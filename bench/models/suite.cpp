// All rivals on all models: medians in one table, outputs compared first.
#include "suite.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>

#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"
#include "models.hpp"
#include "rivals.hpp"

namespace sr::bench {
namespace {

constexpr const char* kNames[] = {"eager",      "interpreter", "upstream", "sr_general", "sr_replay",
                                  "sr_managed", "sr_into",     "light",    "light_bound"};

bool has(const Measured& measured, const std::string& name) {
  return std::ranges::find(measured.rivals, name) != measured.rivals.end();
}

const std::vector<double>& times_of(const Measured& measured, const std::string& name) {
  const auto at = std::ranges::find(measured.rivals, name);
  if (at == measured.rivals.end()) throw std::logic_error("There is no rival '" + name + "'.");
  return measured.times[static_cast<std::size_t>(at - measured.rivals.begin())];
}

Measured measure(const Model& model, const SuiteOptions& options) {
  std::vector<Rival> rivals;
  for (const Kind& kind : kinds_of(model)) rivals.push_back(kind.make());
  check(model, rivals);
  Measured measured{model.name, {}, {}};
  std::vector<Many> many;
  for (const Rival& rival : rivals) {
    measured.rivals.push_back(rival.name);
    many.push_back(rival.many);
  }
  measured.times = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
  return measured;
}

void print(const std::vector<Measured>& all, const SuiteOptions& options) {
  std::vector<Row> rows{{"model", "eager", "interpreter", "upstream", "sr general", "sr replay", "sr managed",
                         "sr into", "light", "(bound)", "up/general", "up/replay", "up/managed", "up/into"}};
  for (const Measured& measured : all) {
    Row row{measured.model};
    for (const char* name : kNames) {
      if (!has(measured, name)) {
        row.push_back("-");
        continue;
      }
      const double median = median_of(times_of(measured, name));
      std::string text = number(median, median < 100 ? 1 : 0);
      row.push_back(name == std::string("light_bound") ? "(" + text + ")" : text);
    }
    const auto& upstream = times_of(measured, "upstream");
    for (const char* ours : {"sr_general", "sr_replay", "sr_managed", "sr_into"})
      row.push_back(number(median_ratio(upstream, times_of(measured, ours)), 2));
    rows.push_back(std::move(row));
  }
  std::cout << "Median nanoseconds a call, one thread, " << options.rounds
            << " interleaved rounds; up/x is upstream's time over x's, median of the rounds.\n";
  print_table(std::cout, rows);
}

void write_csv(std::ostream& out, const std::vector<Measured>& all) {
  out << "model,rival,median_ns,fastest_ns,upstream_over_this\n";
  for (const Measured& measured : all) {
    for (std::size_t i = 0; i < measured.rivals.size(); ++i) {
      const auto& times = measured.times[i];
      out << measured.model << ',' << measured.rivals[i] << ',' << number(median_of(times), 2) << ','
          << number(*std::ranges::min_element(times), 2) << ','
          << number(median_ratio(times_of(measured, "upstream"), times), 3) << '\n';
    }
  }
}

void write_json(std::ostream& out, const std::vector<Measured>& all, const SuiteOptions& options) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Measured& measured : all) {
    for (std::size_t i = 0; i < measured.rivals.size(); ++i) {
      const auto& times = measured.times[i];
      results.push_back({{"model", measured.model},
                         {"rival", measured.rivals[i]},
                         {"median_ns", median_of(times)},
                         {"upstream_over_this", median_ratio(times_of(measured, "upstream"), times)},
                         {"rounds_ns", times}});
    }
  }
  const nlohmann::ordered_json context{
      {"threads", 1}, {"rounds", options.rounds}, {"slice_ms", options.slice_ms}};
  out << nlohmann::ordered_json{{"context", context}, {"results", results}}.dump(1) << '\n';
}

void run(const SuiteOptions& options) {
  const std::vector<Model> chosen = models(options.filter);
  if (chosen.empty()) throw std::runtime_error("No model's name is found by '" + options.filter + "'.");
  if (options.list) {
    for (const Model& model : chosen) std::cout << model.name << '\n';
    return;
  }
  if (!options.record.empty()) return record_plans(chosen, options.record);
  if (options.threads > 1) return run_threads(chosen, options);
  std::vector<Measured> all;
  for (const Model& model : chosen) {
    std::cerr << model.name << '\n';
    all.push_back(measure(model, options));
  }
  print(all, options);
  if (!options.csv.empty()) write_file(options.csv, [&](std::ostream& out) { write_csv(out, all); });
  if (!options.json.empty())
    write_file(options.json, [&](std::ostream& out) { write_json(out, all, options); });
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  sr::bench::SuiteOptions options;
  CLI::App app("sr against the other ways to run a model, in one process and in turns", "bench_suite");
  app.add_option("--filter", options.filter, "Models whose name this regular expression finds");
  sr::bench::add_timing(app, options, "a rival");
  app.add_option("--csv", options.csv, "Write medians and ratios to this file");
  app.add_option("--json", options.json, "Write every round to this file");
  app.add_option("--threads", options.threads, "Instead: calls a second of so many threads against one")
      ->check(CLI::Range(1, 1024));
  app.add_option("--record", options.record, "Instead: write the models' lifetimes to this directory");
  app.add_flag("--list", options.list, "Instead: print the models' names");
  return sr::bench::run_program(app, argc, argv, [&] {
    at::set_num_threads(1);
    sr::bench::run(options);
  });
}
