// True if it ever pays to copy instead of making a view: the source of a view keeps its memory while the view
// lives, the source of a copy can release it at once. Decision 10.
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "../calls/steps.hpp"
#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"

namespace sr::bench {
namespace {

struct Pair {
  const char* name;
  const char* view;
  const char* copy;
};

// Operators that return a view of the tensor `a`, and their twins that copy. The sizes of `a` are [8, 6, n]
// or [64, 6, n].
constexpr Pair kPairs[] = {
    {"reshape", "torch.reshape(a, [a.size(0), -1])", "torch._reshape_copy(a, [a.size(0), -1])"},
    {"flatten", "torch.flatten(a, 1)", "torch._reshape_copy(a, [a.size(0), -1])"},
    {"permute", "torch.permute(a, [1, 0, 2])", "torch.permute_copy(a, [1, 0, 2])"},
    {"narrow", "torch.narrow(a, 1, 1, 3)", "torch.narrow_copy(a, 1, 1, 3)"},
    {"to of its own dtype", "a.to(6)", "torch._to_copy(a, dtype=6)"},
};

// The view is read twice, with a temporary in between, so that the memory of its source matters.
std::string text_of(const std::string& expression) {
  return "def forward(self, x):\n    a = torch.sigmoid(x)\n    b = " + expression +
         "\n    c = torch.tanh(b)\n    d = torch.exp(c) + 1\n    return torch.relu(d) * b\n";
}

std::size_t planned_bytes(const torch::jit::Module& module, const Inputs& inputs) {
  Runtime runtime(sr_module(module, false));
  for (int i = 0; i < 3; ++i) call(runtime, inputs);
  return runtime.report().arena_bytes;
}

Many calls(Runtime& runtime, const Inputs& inputs) {
  return [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) call(runtime, inputs);
  };
}

Row compare(const Pair& pair, std::int64_t batch, std::int64_t width, const StepsOptions& options) {
  const Inputs inputs{at::randn({batch, 6, width})};
  const auto view = module_of(text_of(pair.view)), copy = module_of(text_of(pair.copy));
  Runtime general_view(sr_module(view, false)), general_copy(sr_module(copy, false));
  Runtime replay_view(sr_module(view, true)), replay_copy(sr_module(copy, true));
  const std::vector<Many> many{calls(general_view, inputs), calls(general_copy, inputs),
                               calls(replay_view, inputs), calls(replay_copy, inputs)};
  const auto times = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
  return {std::string(pair.name) + ", " + std::to_string(batch) + " x 6 x " + std::to_string(width),
          number(median_ratio(times[1], times[0]), 2), number(median_ratio(times[3], times[2]), 2),
          std::to_string(planned_bytes(view, inputs)), std::to_string(planned_bytes(copy, inputs))};
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  sr::bench::StepsOptions options;
  CLI::App app("Copies in place of views", "bench_copies");
  sr::bench::add_timing(app, options, "a program");
  return sr::bench::run_program(app, argc, argv, [&] {
    at::set_num_threads(1);
    std::vector<sr::bench::Row> rows{
        {"time with a copy / with a view", "general path", "replay", "arena with a view", "with a copy"}};
    for (const sr::bench::Pair& pair : sr::bench::kPairs) {
      rows.push_back(sr::bench::compare(pair, 8, 8, options));
      rows.push_back(sr::bench::compare(pair, 64, 64, options));
    }
    sr::bench::print_table(std::cout, rows);
  });
}
