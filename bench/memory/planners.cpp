// Duration and quality of plans. Counters: requests, peak/bound (1 is perfect), saved (share of the plain
// sum).
#include <benchmark/benchmark.h>
#include <random>
#include <string>
#include <vector>

#include <sr/memory/planners.hpp>

#include "support/requests.hpp"

namespace {

using namespace sr::memory;
using sr::test::Net;

std::vector<Net> lists() {
  std::mt19937 random(7);
  std::vector<Net> lists{
      {"random_short", sr::test::random_requests(random, {.count = 2000, .steps = 2000, .longest = 200})},
      {"random_mixed", sr::test::random_requests(random, {.count = 2000, .steps = 2000, .longest = 2000})},
      {"random_crowded", sr::test::random_requests(random, {.count = 2000, .steps = 200, .longest = 2000})},
      {"random_aligned",
       sr::test::random_requests(random,
                                 {.count = 2000, .steps = 2000, .longest = 2000, .mixed_alignment = true})},
      {"transformer_133_layers", sr::test::transformer_net(false, 197, 768, 133)},
      {"transformer_133_layers_in_place", sr::test::transformer_net(true, 197, 768, 133)},
      {"lstm_222_steps", sr::test::lstm_net(222)}};
  for (Net& net : sr::test::nets()) {
    for (char& c : net.name) {
      if (c == ' ' || c == ',') c = '_';
    }
    lists.push_back(std::move(net));
  }
  return lists;
}

template <Planner P>
void plan(benchmark::State& state, const std::vector<Request>& requests) {
  Layout layout;
  for (auto _ : state) {
    layout = P::plan(requests);
    benchmark::DoNotOptimize(layout);
  }
  const auto peak = static_cast<double>(layout.total);
  state.counters["requests"] = static_cast<double>(requests.size());
  state.counters["peak/bound"] = peak / static_cast<double>(lower_bound(requests));
  state.counters["saved"] = 1 - peak / static_cast<double>(no_reuse_bytes(requests));
}

}  // namespace

int main(int argc, char** argv) {
  for (const Net& list : lists()) {
    for (const std::string_view name : planner_names()) {
      with_planner(name, [&](auto planner) {
        using P = typename decltype(planner)::type;
        const std::string title = "plan/" + std::string(name) + "/" + list.name;
        benchmark::RegisterBenchmark(title.c_str(), [requests = list.requests](benchmark::State& state) {
          plan<P>(state, requests);
        })->Unit(benchmark::kMicrosecond);
      });
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
