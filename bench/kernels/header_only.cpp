// The cost of using sr without its library: the kernels are compiled with the program's flags (here none),
// while src/kernels chooses by the CPU. Compares both sets in one process, on the same programs of
// transcendental chains.
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <sr/kernels/compiled.hpp>

#include "../calls/steps.hpp"
#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"

namespace sr::bench {
namespace {

struct HeaderOnlyOptions {
  int rounds = 50;
  double slice_ms = 1;
};

struct Chain {
  std::string name, expression;
};

const std::vector<Chain> kChains{
    {"signed_log1p", "torch.sign(x) * torch.log1p(torch.abs(x))"},
    {"exp", "torch.exp(x)"},
    {"tanh", "torch.tanh(x)"},
    {"sigmoid", "torch.sigmoid(x)"},
    {"gelu", "torch.gelu(x)"},
    {"gelu by tanh", "torch.gelu(x, approximate='tanh')"},
    {"silu", "torch.silu(x)"},
    {"softplus", "torch.softplus(x, 1.0, 20.0)"},
    {"all of these",
     "torch.gelu(torch.sigmoid(torch.tanh(torch.exp(torch.sign(x) * torch.log1p(torch.abs(x)))))) + "
     "torch.silu(x)"},
};

const kernels::Kernels* best_kernels() {
#if defined(__x86_64__)
  if (kernels::has_avx512()) return &kernels::fitting_avx512_kernels();
  if (kernels::has_avx2()) return &kernels::avx2_kernels();
#endif
  throw std::runtime_error("This CPU has no other kernels than those of every program.");
}

// Programs are recorded with the current kernels, and steps may look them up again.
Many calls_with(const kernels::Kernels* set, const std::string& forward, const at::Tensor& x,
                const at::Tensor& expected) {
  kernels::chosen = set;
  const auto runtime = std::make_shared<Runtime>(sr_module(module_of(forward), true));
  for (int run = 0; run < 3; ++run) {
    if (!at::allclose((*runtime)(x).toTensor(), expected, 1e-4, 1e-6))
      throw std::runtime_error(std::string("Wrong results with the kernels for ") + set->table.name + ".");
  }
  const Report report = runtime->report();
  if (report.plans.size() != 1 || report.plans[0].calls + report.plans[0].interpreted != 0)
    throw std::runtime_error("A plan should have nothing but kernels.");
  return [set, runtime, x](std::int64_t times) {
    kernels::chosen = set;
    for (std::int64_t i = 0; i < times; ++i) (*runtime)(x);
  };
}

void compare(const HeaderOnlyOptions& options) {
  at::set_num_threads(1);
  const c10::InferenceMode mode;
  const kernels::Kernels *own = &kernels::kOwnKernels, *best = best_kernels();
  std::vector<Row> rows{{"chain", "floats", std::string(own->table.name) + ", ns",
                         std::string(best->table.name) + ", ns", "ratio"}};
  constexpr double kMost = 4;
  double worst = 0;
  for (const Chain& chain : kChains) {
    for (const std::int64_t floats : {512, 4096}) {
      const std::string forward = "def forward(self, x):\n    return " + chain.expression + "\n";
      const at::Tensor x = at::randn({floats});
      const at::Tensor expected = module_of(forward).forward({x}).toTensor();
      const std::vector<Many> many{calls_with(own, forward, x, expected),
                                   calls_with(best, forward, x, expected)};
      const auto times = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
      const double ratio = median_ratio(times[0], times[1]);
      worst = std::max(worst, ratio);
      rows.push_back({chain.name, std::to_string(floats), number(median_of(times[0])),
                      number(median_of(times[1])), number(ratio, 2)});
    }
  }
  print_table(std::cout, rows);
  std::cout << "Largest ratio: " << number(worst, 2) << " (bound: at most " << number(kMost) << ", "
            << (worst <= kMost ? "kept" : "NOT KEPT") << ")\n";
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  sr::bench::HeaderOnlyOptions options;
  CLI::App app("Kernels of a program that only includes sr against those of src/kernels",
               "bench_header_only");
  sr::bench::add_timing(app, options, "a chain");
  return sr::bench::run_program(app, argc, argv, [&] { sr::bench::compare(options); });
}
