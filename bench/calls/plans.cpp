// Shapes that change from call to call, on tensors so small that the look-up takes most of the time.
#include <iostream>
#include <memory>
#include <span>

#include <ATen/ATen.h>

#include "../models/models.hpp"
#include "../output.hpp"
#include "../rounds.hpp"
#include "steps.hpp"

namespace sr::bench {
namespace {

constexpr int kSizes = 10000;

// A model and the arguments of its calls, each of another size.
struct Program {
  std::string name;
  torch::jit::Module module;
  std::vector<Inputs> sets;
};

// Tensors of different sizes share bytes, so that 10,000 of them do not measure the cache.
at::Tensor view_of(const at::Tensor& buffer, at::IntArrayRef sizes) {
  return buffer.narrow(0, 0, c10::multiply_integers(sizes)).view(sizes);
}

Program pointwise() {
  Program program{"10 pointwise ops", module_of(kLongChain), {}};
  const at::Tensor a = at::rand(kSizes), b = at::rand(kSizes), c = at::rand(kSizes);
  for (std::int64_t i = 0; i < kSizes; ++i) {
    const std::int64_t sizes[] = {i % 10 + 1, i / 10 % 10 + 1, i / 100 % 10 + 1, i / 1000 + 1};
    program.sets.push_back({view_of(a, sizes), view_of(b, sizes), view_of(c, sizes)});
  }
  return program;
}

Program perceptron() {
  Program program{"linear, tanh, linear",
                  module_of(R"(
def forward(self, x, w, v):
    return torch.linear(torch.tanh(torch.linear(x, w)), v)
)"),
                  {}};
  // Rows, hidden size and results: many sizes of few elements.
  const at::Tensor x = at::rand(400), w = at::rand(80), v = at::rand(100);
  for (std::int64_t i = 0; i < kSizes; ++i) {
    const std::int64_t rows = i % 100 + 1, hidden = i / 100 % 20 + 1, results = i / 2000 + 1;
    program.sets.push_back({view_of(x, {rows, 4}), view_of(w, {hidden, 4}), view_of(v, {results, hidden})});
  }
  return program;
}

std::shared_ptr<Runtime> runtime_of(const Program& program, bool replay) {
  return std::make_shared<Runtime>(sr_module(program.module, replay));
}

// Eight sizes, each several times in a row, or in turn: the same calls in another order.
Row in_turn(const Program& program, bool replay, const StepsOptions& options) {
  const auto runtime = runtime_of(program, replay);
  const std::span<const Inputs> sets(program.sets.data(), 8);
  for (int i = 0; i < 4; ++i) {
    for (const Inputs& inputs : sets) call(*runtime, inputs);
  }
  const std::vector<Many> many{[&](std::int64_t times) {
                                 for (const Inputs& inputs : sets) {
                                   for (std::int64_t i = 0; i < times; ++i) call(*runtime, inputs);
                                 }
                               },
                               [&](std::int64_t times) {
                                 for (std::int64_t i = 0; i < times; ++i) {
                                   for (const Inputs& inputs : sets) call(*runtime, inputs);
                                 }
                               }};
  const auto times = time_in_rounds(many, options.rounds, options.slice_ms * 1e-3);
  const double row = median_of(times[0]) / 8, turn = median_of(times[1]) / 8;
  return {program.name + (replay ? ", replay" : ", general path"), number(row, 1), number(turn, 1),
          number(turn - row, 1), number(median_ratio(times[1], times[0]), 3)};
}

// Each call continues with the next size, so no size returns before 9,999 others.
Many next_sizes(const Program& program, const std::shared_ptr<Runtime>& runtime) {
  return [&program, runtime, next = std::size_t{0}](std::int64_t times) mutable {
    for (std::int64_t i = 0; i < times; ++i) {
      call(*runtime, program.sets[next]);
      next = (next + 1) % program.sets.size();
    }
  };
}

Row never_seen(const Program& program, const StepsOptions& options) {
  // Both proceed at the same rate; otherwise one would have the larger tensors of a round.
  Many general = next_sizes(program, runtime_of(program, false)),
       replay = next_sizes(program, runtime_of(program, true));
  general(kSizes / 5);
  replay(kSizes / 5);
  std::vector<double> one, other;
  for (int round = 0; round < 4 * options.rounds; ++round) {
    if (round % 2 == 0) one.push_back(nanoseconds_of(general, 200) / 200);
    other.push_back(nanoseconds_of(replay, 200) / 200);
    if (round % 2 == 1) one.push_back(nanoseconds_of(general, 200) / 200);
  }
  const double ratio = median_ratio(other, one);
  return {program.name, number(median_of(one)), number(median_of(other)), number(ratio, 3),
          ratio <= 1.05 ? "yes" : "NO"};
}

// Medians of single calls: result[c] is call number c of a size. The cost of reading the clock is subtracted.
std::vector<double> first_calls(const Program& program, Runtime& runtime, bool reserve) {
  constexpr int sizes = 500, calls = 6;
  const double clock = [] {
    std::vector<double> times;
    for (int i = 0; i < 1000; ++i) times.push_back(nanoseconds_of([](std::int64_t) {}, 1));
    return median_of(times);
  }();
  std::vector<std::vector<double>> times(calls);
  for (int s = 0; s < sizes; ++s) {
    const Inputs& inputs = program.sets[static_cast<std::size_t>(s) * (program.sets.size() / sizes)];
    for (int c = 0; c < calls; ++c) {
      const Many once = [&](std::int64_t) {
        if (reserve && c == 0) return runtime.reserve(inputs);
        call(runtime, inputs);
      };
      times[c].push_back(nanoseconds_of(once, 1) - clock);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& time : times) medians.push_back(median_of(time));
  return medians;
}

void making(const Program& program, std::vector<Row>& rows) {
  const auto general = first_calls(program, *runtime_of(program, false), false);
  const auto replay = first_calls(program, *runtime_of(program, true), false);
  const auto reserved = first_calls(program, *runtime_of(program, true), true);
  const double run = general[2];
  rows.push_back({program.name, number(run), number(replay[0]), number(replay[1]), number(replay[5]),
                  number((replay[1] - general[1]) / run, 2), number(reserved[0]),
                  number(reserved[0] / run, 2), number(reserved[1])});
}

}  // namespace

void time_plans(const StepsOptions& options) {
  const Program programs[] = {pointwise(), perceptron()};
  std::vector<Row> turns{{"\neight sizes", "ns, each in a row", "ns, in turn", "difference", "ratio"}};
  std::vector<Row> unseen{{"\na new size in each call", "ns, general", "ns, replay", "ratio", "<= 1.05"}};
  std::vector<Row> made{{"\na size's first calls", "ns, general", "ns, 1st", "2nd", "6th",
                         "plan in general runs", "ns, reserve()", "in general runs", "ns, 1st after"}};
  for (const Program& program : programs) {
    std::cerr << program.name << '\n';
    for (const bool replay : {false, true}) turns.push_back(in_turn(program, replay, options));
    unseen.push_back(never_seen(program, options));
    making(program, made);
  }
  for (const auto* rows : {&turns, &unseen, &made}) print_table(std::cout, *rows);
}

}  // namespace sr::bench
