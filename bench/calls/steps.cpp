// The cost of one step: programs of k dependent operators on tiny tensors, timed for k up to 64. The slope of
// the time over k is the cost of a step, the intercept is the cost of the call.
#include "steps.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/jit/runtime/static/impl.h>

#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"

namespace sr::bench {
namespace {

// The lines are one link of the chain and hold `steps` operators.
struct Chain {
  std::string name;
  std::vector<std::string> lines;
  Inputs inputs;
};

std::vector<Chain> chains() {
  const at::Tensor x = at::full({4, 4}, 0.5), identity = at::eye(4);
  const at::Tensor d = at::full({4}, 0.5, at::kDouble), one = at::ones({4}, at::kLong);
  return {
      // With a product in between, each pointwise operator is its own step; without it, they may be
      // fused.
      {"relu, mm", {"x = torch.relu(x)", "x = torch.mm(x, y)"}, {x, identity}},
      {"sigmoid, softmax", {"x = torch.sigmoid(x)", "x = torch.softmax(x, -1)"}, {x, identity}},
      {"relu, mul (may fuse)", {"x = torch.relu(x)", "x = x * y"}, {x, at::ones({4, 4})}},
      {"erf on double", {"x = torch.erf(x)"}, {d, d.clone()}},
      {"add on int64", {"x = x + y"}, {one, one.clone()}},
  };
}

std::string text_of(const Chain& chain, int links) {
  std::string text = "def forward(self, x, y):\n";
  for (int i = 0; i < links; ++i) {
    for (const std::string& line : chain.lines) text += "    " + line + "\n";
  }
  return text + "    return x\n";
}

struct Line {
  double slope = 0, at_zero = 0;
};

// Least squares.
Line fit(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  return {slope, (sy - slope * sx) / n};
}

Many upstream_calls(const torch::jit::Module& module, const Inputs& inputs) {
  const auto prepared = std::make_shared<torch::jit::StaticModule>(module, /*is_frozen=*/false,
                                                                   torch::jit::StaticModuleOptions());
  const auto runtime = std::make_shared<torch::jit::StaticRuntime>(*prepared);
  return [prepared, runtime, &inputs](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) (*runtime)(inputs);
  };
}

Many sr_calls(const torch::jit::Module& module, const Inputs& inputs, bool replay) {
  const auto runtime = std::make_shared<Runtime>(sr_module(module, replay));
  return [runtime, &inputs](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) call(*runtime, inputs);
  };
}

}  // namespace

void time_steps(const StepsOptions& options) {
  const std::vector<std::string> names{"upstream", "general", "replay"};
  std::vector<Row> rows{
      {"nanoseconds a step (a call without steps)", "upstream", "", "sr general", "", "sr replay", ""}};
  for (const Chain& chain : chains()) {
    std::cerr << chain.name << '\n';
    std::vector<double> steps;
    std::vector<std::vector<double>> times(names.size());
    std::vector<Many> many;
    for (const int links : {1, 2, 4, 8, 16, 32}) {
      const torch::jit::Module module = module_of(text_of(chain, links));
      steps.push_back(static_cast<double>(links) * static_cast<double>(chain.lines.size()));
      many.push_back(upstream_calls(module.clone(/*inplace=*/true), chain.inputs));
      many.push_back(sr_calls(module, chain.inputs, false));
      many.push_back(sr_calls(module, chain.inputs, true));
    }
    const auto measured = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
    for (std::size_t i = 0; i < measured.size(); ++i)
      times[i % names.size()].push_back(median_of(measured[i]));
    Row row{chain.name};
    for (const std::vector<double>& time : times) {
      const Line line = fit(steps, time);
      row.push_back(number(line.slope, 1));
      row.push_back("(" + number(line.at_zero) + ")");
    }
    rows.push_back(std::move(row));
  }
  print_table(std::cout, rows);
}

}  // namespace sr::bench

int main(int argc, char** argv) {
  sr::bench::StepsOptions options;
  bool steps = true, plans = true;
  CLI::App app("What a call costs besides arithmetic: steps, plan look-ups, plans that are made",
               "bench_steps");
  sr::bench::add_timing(app, options, "a program");
  app.add_flag("--steps,!--no-steps", steps, "Time steps");
  app.add_flag("--plans,!--no-plans", plans, "Time look-ups and plans");
  return sr::bench::run_program(app, argc, argv, [&] {
    at::set_num_threads(1);
    if (steps) sr::bench::time_steps(options);
    if (plans) sr::bench::time_plans(options);
  });
}
