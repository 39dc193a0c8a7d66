// Calls whose sizes vary: one plan for all of them against a plan for each, and against LibTorch's Static
// Runtime.
#include <algorithm>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/jit/runtime/static/impl.h>

#include <sr/sr.hpp>

#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"
#include "stream_models.hpp"

namespace sr::bench {
namespace {

struct StreamOptions {
  int rounds = 21;
  double slice_ms = 20;
  std::string filter, markdown;
};

constexpr std::size_t kLength = 256;  // calls of a stream, repeated

struct Stream {
  std::string name;
  std::vector<std::int64_t> sizes;
};

std::vector<Stream> streams() {
  std::mt19937 random(7);
  Stream uniform{"uniform", {}}, zipf{"Zipf", {}}, once{"each once", {}};
  std::vector<double> weights;
  for (std::int64_t n = 1; n <= kMostSize; ++n) weights.push_back(1 / static_cast<double>(n));
  std::discrete_distribution<std::int64_t> by_zipf(weights.begin(), weights.end());
  std::uniform_int_distribution<std::int64_t> any(1, kMostSize);
  for (std::size_t i = 0; i < kLength; ++i) {
    uniform.sizes.push_back(any(random));
    zipf.sizes.push_back(1 + by_zipf(random));
    once.sizes.push_back(1 + static_cast<std::int64_t>(i));
  }
  std::ranges::shuffle(once.sizes, random);
  return {uniform, zipf, once};
}

using Calls = std::vector<std::vector<c10::IValue>>;

// Runs the calls in turn, and goes on where it ended.
template <class Runtime>
Many in_turn(Runtime& runtime, const Calls& calls) {
  return [&runtime, &calls, next = std::size_t{0}](std::int64_t times) mutable {
    for (std::int64_t i = 0; i < times; ++i) {
      runtime(calls[next], {});
      if (++next == calls.size()) next = 0;
    }
  };
}

StaticModuleOptions without_families(std::size_t most_bytes) {
  StaticModuleOptions options;
  options.debug.enable_families = false;
  options.memory.max_plan_bytes = most_bytes;
  return options;
}

Row compare(const SizedModel& model, const Stream& stream, const StreamOptions& options) {
  Calls calls;
  for (const std::int64_t size : stream.sizes) calls.push_back(model.inputs(size));
  StaticRuntime<> family{StaticModule(model.module)};
  StaticRuntime<> own{StaticModule(model.module, without_families(std::numeric_limits<std::size_t>::max()))};
  StaticRuntime<> exact{
      StaticModule(model.module, without_families(StaticModuleOptions().memory.max_plan_bytes))};
  for (const auto& call : calls) own.reserve(call);
  torch::jit::StaticModule upstream_module(model.module.clone(/*inplace=*/true));
  torch::jit::StaticRuntime upstream(upstream_module);
  const std::vector<Many> many{in_turn(family, calls), in_turn(own, calls), in_turn(exact, calls),
                               in_turn(upstream, calls)};
  // A slice is whole turns of the stream, so that all see the same sizes.
  std::vector<std::vector<double>> times(many.size());
  std::vector<std::int64_t> turns;
  for (const Many& one : many) {
    const auto wanted = calls_in(one, options.slice_ms * 1e-3) / static_cast<std::int64_t>(kLength);
    turns.push_back(std::max<std::int64_t>(1, wanted) * static_cast<std::int64_t>(kLength));
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < many.size(); ++i) {
      const std::size_t one = (i + static_cast<std::size_t>(round)) % many.size();
      times[one].push_back(nanoseconds_of(many[one], turns[one]) / static_cast<double>(turns[one]));
    }
  }
  return {model.name,
          stream.name,
          number(median_of(times[0]) * 1e-3, 2),
          number(median_ratio(times[0], times[1]), 2),
          number(median_ratio(times[2], times[0]), 2),
          number(median_ratio(times[3], times[0]), 2),
          std::to_string(family.report().plans.size())};
}

// The time of a call of a size that was never seen, and of the same call again.
Row first_calls(const SizedModel& model) {
  StaticRuntime<> runtime{StaticModule(model.module)};
  const std::vector<std::int64_t> before{64, 256, 32, 16};
  for (const std::int64_t size : before) runtime(model.inputs(size), {});
  std::vector<std::int64_t> sizes(200);
  std::iota(sizes.begin(), sizes.end(), 40);
  std::ranges::shuffle(sizes, std::mt19937(3));
  std::vector<double> first, again;
  for (const std::int64_t size : sizes) {
    const auto call = model.inputs(size);
    const auto once = [&](std::int64_t) { runtime(call, {}); };
    first.push_back(nanoseconds_of(once, 1) * 1e-3);
    std::vector<double> repeated;
    for (int i = 0; i < 9; ++i) repeated.push_back(nanoseconds_of(once, 1) * 1e-3);
    again.push_back(median_of(repeated));
  }
  std::vector<double> ratios(first.size());
  std::ranges::transform(first, again, ratios.begin(), std::divides<>());
  std::ranges::sort(ratios);
  return {model.name, number(median_of(first), 2), number(median_of(again), 2),
          number(ratios[ratios.size() * 99 / 100], 2)};
}

void print_markdown(std::ostream& out, const std::vector<Row>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out << '|';
    for (const std::string& cell : rows[i]) out << ' ' << cell << " |";
    out << '\n';
    if (i != 0) continue;
    out << '|';
    for (std::size_t c = 0; c < rows[i].size(); ++c) out << (c < 1 ? " --- |" : " ---: |");
    out << '\n';
  }
}

void run(const StreamOptions& options) {
  at::set_num_threads(1);
  const at::NoGradGuard no_grad;
  std::vector<Row> rows{{"model", "sizes", "us a call", "/ a plan for each size", "no families /",
                         "Static Runtime /", "plans"}};
  std::vector<Row> firsts{
      {"model", "first call of a size, us", "the same again", "99th percentile of the ratio"}};
  for (const SizedModel& model : sized_models()) {
    if (model.name.find(options.filter) == std::string::npos) continue;
    for (const Stream& stream : streams()) rows.push_back(compare(model, stream, options));
    firsts.push_back(first_calls(model));
  }
  print_table(std::cout, rows);
  std::cout << '\n';
  print_table(std::cout, firsts);
  if (options.markdown.empty()) return;
  write_file(options.markdown, [&](std::ostream& out) {
    out << "# Sizes that vary\n\n"
           "Written by `./dev bench streams`. One thread; sizes from 1 to 256, fixed by a seed; times are "
           "medians of interleaved rounds, and ratios are medians of the ratios of rounds. A ratio is above "
           "1 where "
           "what stands before the stroke is slower. The inputs of all calls lie in the same memory, as "
           "those "
           "do that a server reads into one buffer.\n\n";
    print_markdown(out, rows);
    out << "\nThe first call of a size that the runtime has not met, and the same call again, with the clock "
           "read "
           "around each:\n\n";
    print_markdown(out, firsts);
  });
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  CLI::App app{"Calls whose sizes vary: one plan for all sizes against a plan for each"};
  sr::bench::StreamOptions options;
  sr::bench::add_timing(app, options, "each stream");
  app.add_option("--model", options.filter, "Only models whose name contains this");
  app.add_option("--markdown", options.markdown, "Write the tables to this file, too");
  return sr::bench::run_program(app, argc, argv, [&] { sr::bench::run(options); });
}
