// The cost of sharing a pool and a module between threads, and the cost and gain of forks.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/jit/runtime/static/impl.h>

#include <sr/runtime_pool.hpp>

#include "../kernels/parallel.hpp"
#include "../models/models.hpp"
#include "../output.hpp"
#include "../program.hpp"
#include "../rounds.hpp"
#include "support/ir.hpp"

namespace sr::bench {
namespace {

struct SharingOptions {
  int rounds = 31;
  double slice_ms = 5;
};

Many repeat(std::function<void()> call) {
  return [call = std::move(call)](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) call();
  };
}

// Nanoseconds a call on each thread, by round.
class Together {
 public:
  explicit Together(std::vector<Many> callers)
      : callers_(std::move(callers)), batch_(calls_in(callers_[0], 1e-3)) {}

  void round(double seconds) {
    const Rate rate = rate_of(callers_, batch_, seconds);
    calls_.push_back(rate.calls_per_second);
    times_.push_back(1e9 * static_cast<double>(callers_.size()) / rate.calls_per_second);
  }
  const std::vector<double>& calls_per_second() const { return calls_; }
  const std::vector<double>& nanoseconds() const { return times_; }

 private:
  std::vector<Many> callers_;
  std::int64_t batch_;
  std::vector<double> calls_, times_;
};

void run_rounds(std::initializer_list<Together*> all, const SharingOptions& options) {
  for (int round = 0; round < options.rounds; ++round) {
    for (Together* one : all) one->round(options.slice_ms * 1e-3);
  }
}

// Leases are taken in their own loop, not through a std::function each.
Many leases(const pool::ObjectPool<int>& objects) {
  return [&objects](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) ++*objects.lease();
  };
}

void time_leases(const SharingOptions& options) {
  const pool::ObjectPool<int> objects(16, [] { return std::make_unique<int>(0); });
  Together alone({leases(objects)}), two({leases(objects), leases(objects)});
  run_rounds({&alone, &two}, options);
  print_table(std::cout,
              {{"lease and return, ns", "one thread", "two threads"},
               {"", number(median_of(alone.nanoseconds()), 1), number(median_of(two.nanoseconds()), 1)}});
}

// Each caller has separate arguments: reference counts of shared ones would move between the threads'
// caches.
Many calls(const StaticModule& module, const std::vector<c10::IValue>& inputs) {
  std::vector<c10::IValue> own;
  for (const c10::IValue& input : inputs) own.push_back(input.deepcopy());
  return [module, own = std::move(own)](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) module(own);
  };
}

void time_modules(const SharingOptions& options) {
  const Model model = deep_wide(1);
  const StaticModule shared(model.module), first(model.module), second(model.module);
  Together alone({calls(shared, model.inputs)}),
      one({calls(shared, model.inputs), calls(shared, model.inputs)}),
      separate({calls(first, model.inputs), calls(second, model.inputs)});
  run_rounds({&alone, &one, &separate}, options);
  print_table(std::cout, {{model.name + ", calls of the module", "ns a call", "throughput / one thread"},
                          {"one thread", number(median_of(alone.nanoseconds())), "1.00"},
                          {"two threads, one module", number(median_of(one.nanoseconds())),
                           number(median_ratio(one.calls_per_second(), alone.calls_per_second()), 2)},
                          {"two threads, a module each", number(median_of(separate.nanoseconds())),
                           number(median_ratio(separate.calls_per_second(), alone.calls_per_second()), 2)}});
  std::cout << "one module / a module each, time a call: "
            << number(median_ratio(one.nanoseconds(), separate.nanoseconds()), 3) << '\n';
}

// Six products of this size and the operators after them take about a millisecond.
std::string branches(const std::string& first) {
  return "def body(self, x, w):\n    for i in range(8):\n        x = torch.tanh(torch.mm(x, w))\n    return "
         "x\n"
         "def forward(self, x, y, w):\n    f = " +
         first + "\n    g = self.body(y, w)\n    return " + (first[0] == 'f' ? "torch.wait(f)" : "f") +
         " + g\n";
}

void time_forks(const SharingOptions& options) {
  const at::Tensor x = at::randn({180, 180}) * 0.1, small = at::zeros({2});
  const std::vector<c10::IValue> matrices{x, x + 0.1, x * 0.5}, one{small};
  StaticRuntime<> forked{StaticModule(test::script(branches("fork(self.body, x, w)")))};
  StaticRuntime<> serial{StaticModule(test::script(branches("self.body(x, w)")))};
  const auto empty = test::script(
      "def body(self, x):\n    return x\ndef forward(self, x):\n    return torch.wait(fork(self.body, x))\n");
  StaticRuntime<> ours{StaticModule(empty)};
  const torch::jit::StaticModule prepared(empty);
  torch::jit::StaticRuntime upstream(prepared);
  const std::vector<Many> many{repeat([&] { forked(matrices); }), repeat([&] { serial(matrices); }),
                               repeat([&] { ours(one); }), repeat([&] { upstream(one, {}); })};
  const auto times = time_in_rounds(many, options.rounds, 2 * options.slice_ms * 1e-3);
  print_table(std::cout, {{"ns a call", "", "", "ratio"},
                          {"two branches, one forked / both in turn", number(median_of(times[0])),
                           number(median_of(times[1])), number(median_ratio(times[0], times[1]), 3)},
                          {"an empty body, sr / upstream", number(median_of(times[2])),
                           number(median_of(times[3])), number(median_ratio(times[2], times[3]), 3)}});
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  sr::bench::SharingOptions options;
  CLI::App app("What threads pay for sharing a pool and a module, and what forks cost", "bench_sharing");
  sr::bench::add_timing(app, options, "a group of threads");
  return sr::bench::run_program(app, argc, argv, [&] {
    at::set_num_threads(1);
    sr::bench::time_leases(options);
    sr::bench::time_modules(options);
    sr::bench::time_forks(options);
  });
}
