// What a call through sr.h costs beside the same call in C++: interleaved rounds, medians. `c_call WAY CALLS`
// makes that many calls in one way only, for a tool that counts instructions.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/jit/api/module.h>

#include <sr/sr.hpp>

#include "sr.h"

namespace {

void check(sr_status status) {
  if (status != SR_OK) throw std::runtime_error(sr_last_error());
}

std::string archive() {
  torch::jit::Module module("model");
  module.define("def forward(self, x, y):\n    return torch.relu(x * y + x)\n");
  std::ostringstream stream;
  module.save(stream);
  return stream.str();
}

double nanoseconds(const std::function<void(int)>& calls) {
  constexpr int kCalls = 20000;
  const auto begin = std::chrono::steady_clock::now();
  calls(kCalls);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kCalls;
}

}  // namespace

int main(int argc, char** argv) try {
  at::set_num_threads(1);
  const std::string bytes = archive();
  std::istringstream stream(bytes);
  const sr::StaticModule in_cpp = sr::load(stream);
  sr_module* in_c = nullptr;
  check(sr_module_load_bytes(bytes.data(), bytes.size(), nullptr, &in_c));

  const at::Tensor x = at::rand({4, 8}), y = at::rand({4, 8});
  at::Tensor into = at::empty({4, 8});
  std::vector<std::int64_t> shape{4, 8};
  const auto described = [&](const at::Tensor& tensor) {
    return sr_tensor{tensor.data_ptr(), {1, 0}, 2, {2, 32, 1}, shape.data(), nullptr, 0};
  };
  const sr_tensor tensors[] = {described(x), described(y), described(into)};
  sr_value args[2] = {};
  for (int i = 0; i < 2; ++i) {
    args[i].kind = SR_TENSOR;
    args[i].as.tensor = &tensors[i];
  }
  sr::StaticRuntime<> runtime(in_cpp);
  sr::BoundCall bound_cpp = runtime.bind({x, y}, {into});
  sr_bound* bound_c = nullptr;
  check(sr_module_bind(in_c, args, 2, &tensors[2], 1, &bound_c));

  const std::vector<std::pair<std::string, std::function<void(int)>>> ways{
      {"cpp",
       [&](int calls) {
         for (int i = 0; i < calls; ++i) in_cpp(std::vector<c10::IValue>{x, y});
       }},
      {"c",
       [&](int calls) {
         for (int i = 0; i < calls; ++i) {
           sr_results* results = nullptr;
           check(sr_module_call(in_c, args, 2, nullptr, &results));
           sr_results_free(results);
         }
       }},
      {"into_cpp",
       [&](int calls) {
         const std::vector<c10::IValue> values{x, y};
         const std::vector<at::Tensor> outputs{into};
         for (int i = 0; i < calls; ++i) in_cpp.run_into(values, outputs);
       }},
      {"into_c",
       [&](int calls) {
         for (int i = 0; i < calls; ++i) check(sr_module_call_into(in_c, args, 2, &tensors[2], 1));
       }},
      {"bound_cpp",
       [&](int calls) {
         for (int i = 0; i < calls; ++i) bound_cpp();
       }},
      {"bound_c", [&](int calls) {
         for (int i = 0; i < calls; ++i) check(sr_bound_call(bound_c));
       }}};

  if (argc == 3) {
    for (const auto& [name, run] : ways)
      if (name == argv[1]) run(std::atoi(argv[2]));
    return 0;
  }
  std::map<std::string, std::vector<double>> rounds;
  for (int round = 0; round < 31; ++round)
    for (const auto& [name, run] : ways) rounds[name].push_back(nanoseconds(run));
  for (const auto& [name, run] : ways) {
    std::vector<double>& times = rounds[name];
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    std::printf("%-10s %6.0f ns\n", name.c_str(), times[times.size() / 2]);
  }
  sr_bound_free(bound_c);
  sr_module_free(in_c);
} catch (const std::exception& error) {
  std::fprintf(stderr, "c_call: %s\n", error.what());
  return 1;
}
