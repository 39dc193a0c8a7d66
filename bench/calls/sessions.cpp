// Compares steps of many sessions one by one with the same steps in one call (run_sessions), and with a call
// of a model without state that has the rows of all. Times are of one step of one stream.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include <sr/session_batch.hpp>
#include <sr/sr.hpp>

#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"
#include "support/ir.hpp"
#include "timing/statistics.hpp"

namespace sr::bench {
namespace {

struct SessionsOptions {
  int rounds = 31;
  double slice_ms = 5;
  std::int64_t streams = 64;
};

test::Attributes weights_of(std::int64_t in, std::int64_t hidden) {
  return {{"w", at::randn({3 * hidden, in}) * 0.1},
          {"u", at::randn({3 * hidden, hidden}) * 0.1},
          {"b", at::zeros({3 * hidden})}};
}

void compare(std::int64_t in, std::int64_t hidden, const SessionsOptions& options) {
  test::Attributes attributes = weights_of(in, hidden);
  const StaticModule stateless(test::script(
      "def forward(self, x, h):\n    return torch.gru_cell(x, h, self.w, self.u, self.b, self.b)\n",
      attributes));
  attributes.emplace_back("h", at::zeros({1, hidden}));
  const StaticModule module(test::script(
      "def forward(self, x):\n    h = torch.gru_cell(x, self.h, self.w, self.u, self.b, self.b)\n"
      "    self.h = h\n    return h\n",
      attributes));
  std::vector<Session> sessions;
  std::vector<std::vector<c10::IValue>> inputs;
  for (std::int64_t i = 0; i < options.streams; ++i) {
    sessions.push_back(module.session());
    inputs.push_back({at::randn({1, in})});
  }
  const auto separate = [&](std::int64_t times) {
    for (std::int64_t t = 0; t < times; ++t) {
      for (std::size_t i = 0; i < sessions.size(); ++i) sessions[i](inputs[i]);
    }
  };
  const auto joined = [&](std::int64_t times) {
    for (std::int64_t t = 0; t < times; ++t) run_sessions(sessions, inputs);
  };
  const std::vector<c10::IValue> rows{at::randn({options.streams, in}), at::randn({options.streams, hidden})};
  const auto together = [&](std::int64_t times) {
    for (std::int64_t t = 0; t < times; ++t) stateless(rows);
  };
  const std::vector<Many> rivals{separate, joined, together};
  const auto times = time_in_rounds(rivals, options.rounds, options.slice_ms * 1e-3);
  const auto nanoseconds = [&](std::size_t i) {
    return number(median_of(times[i]) / static_cast<double>(options.streams), 0);
  };
  print_table(std::cout, {{"GRU " + std::to_string(in) + "-" + std::to_string(hidden) + ", ns a step",
                           "one by one", "run_sessions", "one batch, no state", "ratio"},
                          {"", nanoseconds(0), nanoseconds(1), nanoseconds(2),
                           number(median_of(times[0]) / median_of(times[1]), 2)}});
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  using namespace sr::bench;
  CLI::App app("Steps of many sessions, one by one and in one call", "bench_sessions");
  SessionsOptions options;
  add_timing(app, options, "each of the three");
  app.add_option("--streams", options.streams, "Sessions")->check(CLI::Range(1, 10'000));
  return run_program(app, argc, argv, [&] {
    at::set_num_threads(1);
    compare(32, 64, options);
    compare(128, 256, options);
  });
}
