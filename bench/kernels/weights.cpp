// The cost of following weights: a check of each weight in every call, and a new set after a change.
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <sr/sr.hpp>

#include "../models/models.hpp"
#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"
#include "support/ir.hpp"

namespace sr::bench {
namespace {

struct WeightsOptions {
  int rounds = 31;
  double slice_ms = 5;
};

struct Subject {
  std::string name;
  torch::jit::Module module;
  std::vector<c10::IValue> inputs;
  int weights;
};

Subject deep_and_wide() {
  const auto module = test::script(
      "def forward(self, ad, user, wide):\n    n = torch.clamp((wide + self.mu) * self.sigma, -10.0, 10.0)\n"
      "    dp = torch.bmm(ad, user.transpose(1, 2)).flatten(1)\n"
      "    return torch.sigmoid(torch.addmm(self.b, torch.cat([dp, n], 1), self.w))\n",
      {{"mu", at::randn({1, 50})},
       {"sigma", at::randn({1, 50})},
       {"w", at::randn({51, 1})},
       {"b", at::randn({1})}});
  return {"deep and wide, batch 1",
          module,
          {at::randn({1, 1, 32}), at::randn({1, 1, 32}), at::randn({1, 50})},
          4};
}

// Layers of a weight and a bias each, small enough to stay in the cache together.
Subject layers(int count) {
  std::string source = "def forward(self, x):\n";
  test::Attributes attributes;
  for (int i = 0; i < count; ++i) {
    const std::string w = "w" + std::to_string(i), b = "b" + std::to_string(i);
    source += "    x = torch.relu(torch.linear(x, self." + w + ", self." + b + "))\n";
    attributes.emplace_back(w, at::randn({8, 8}));
    attributes.emplace_back(b, at::randn({8}));
  }
  return {std::to_string(count) + " layers of 8 x 8",
          test::script(source + "    return x\n", attributes),
          {at::randn({1, 8})},
          2 * count};
}

Many calls(StaticRuntime<>& runtime, const std::vector<c10::IValue>& inputs) {
  return [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) runtime(inputs);
  };
}

// Weights are written before each call.
Many calls_after_writes(StaticRuntime<>& runtime, const Subject& subject) {
  const at::Tensor written = (*subject.module.buffers().begin());
  return [&runtime, &subject, written](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) {
      written.add_(1e-6);
      runtime(subject.inputs);
    }
  };
}

Row compare(const Subject& subject, const WeightsOptions& options) {
  StaticRuntime<> frozen{StaticModule(subject.module, {.weights = {.freeze = true}})};
  StaticRuntime<> followed{StaticModule(subject.module)};
  StaticRuntime<> frozen_general{
      StaticModule(subject.module, {.weights = {.freeze = true}, .debug = {.enable_replay = false}})};
  StaticRuntime<> changing{StaticModule(subject.module)};
  const std::vector<Many> many{calls(frozen, subject.inputs), calls(followed, subject.inputs),
                               calls_after_writes(frozen_general, subject),
                               calls_after_writes(changing, subject)};
  const auto times = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
  const double look = median_of(times[1]) - median_of(times[0]);
  return {subject.name,
          number(median_of(times[0]), 1),
          number(look, 1),
          number(look / subject.weights, 2),
          number(median_of(times[2]), 0),
          number(median_of(times[3]), 0)};
}

void run(const WeightsOptions& options) {
  at::set_num_threads(1);
  const at::NoGradGuard no_grad;
  std::vector<Row> rows{{"ns", "frozen", "followed: more", "a weight", "general call", "call after a write"}};
  for (const Subject& subject : {deep_and_wide(), layers(10), layers(100)})
    rows.push_back(compare(subject, options));
  print_table(std::cout, rows);
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  CLI::App app{"Costs of weights that may change, one thread, interleaved rounds, medians"};
  sr::bench::WeightsOptions options;
  sr::bench::add_timing(app, options, "each model");
  return sr::bench::run_program(app, argc, argv, [&] { sr::bench::run(options); });
}
