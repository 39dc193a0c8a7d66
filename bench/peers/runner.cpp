// Times AOTInductor packages and LibTorch's interpreter on one model, as a C++ program would call them.
// Prints one line for each file: its name, and nanoseconds a call or the reason why there are none.
#include <algorithm>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include "../rounds.hpp"
#include "inputs.hpp"

namespace sr::bench {
namespace {

using Call = std::function<at::Tensor()>;

struct Rival {
  std::string name;
  std::string failure;  // if empty, `many` can be called
  Many many;
};

Rival prepare(std::string name, const at::Tensor& expected, const std::function<Call()>& make) {
  Rival rival{std::move(name), {}, {}};
  try {
    const Call call = make();
    // TorchScript's interpreter optimises a graph again in its second call.
    for (int i = 0; i < 4; ++i) {
      if (!at::allclose(call(), expected, /*rtol=*/1e-3, /*atol=*/1e-4))
        throw std::runtime_error("its output differs from eager's");
    }
    rival.many = [call](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) call();
    };
  } catch (const std::exception& error) {
    rival.failure = error.what();
    rival.failure.resize(std::min(rival.failure.find('\n'), rival.failure.size()));
  }
  return rival;
}

Call interpreter(const std::string& model, const std::vector<c10::IValue>& inputs) {
  torch::jit::Module frozen = torch::jit::load(model);
  frozen.eval();
  return [module = torch::jit::optimize_for_inference(frozen), inputs]() mutable {
    return module.forward(inputs).toTensor();
  };
}

Call package(const std::string& path, const std::vector<c10::IValue>& inputs) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& input : inputs) tensors.push_back(input.toTensor());
  // Without the locks for several callers: every rival has one caller.
  const auto loader =
      std::make_shared<torch::inductor::AOTIModelPackageLoader>(path, "model", /*run_single_threaded=*/true);
  return [loader, tensors] { return std::move(loader->run(tensors)[0]); };
}

// `call` holds the arguments, followed by eager's result.
void run(int rounds, double slice_ms, const std::string& call, const std::vector<std::string>& files) {
  const tool::ArgumentList all = tool::read_input_sets(call).at(0);
  const at::Tensor expected = all.back().toTensor();
  const tool::ArgumentList inputs(all.begin(), all.end() - 1);
  const c10::InferenceMode inference;
  std::vector<Rival> rivals;
  for (const std::string& file : files) {
    rivals.push_back(prepare(file, expected, [&] {
      return file.ends_with(".pt2") ? package(file, inputs) : interpreter(file, inputs);
    }));
  }
  std::vector<Many> many;
  for (const Rival& rival : rivals) {
    if (rival.many) many.push_back(rival.many);
  }
  const auto times = time_in_rounds(many, rounds, slice_ms * 1e-3);
  std::size_t next = 0;
  for (const Rival& rival : rivals) {
    std::cout << rival.name << '\t';
    if (rival.many)
      std::cout << median_of(times[next++]) << '\n';
    else
      std::cout << rival.failure << '\n';
  }
}

}  // namespace
}  // namespace sr::bench

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: bench_peers ROUNDS SLICE_MS CALL.pt MODEL.pt|MODEL.pt2 ...\n";
    return 2;
  }
  at::set_num_threads(1);
  try {
    sr::bench::run(std::stoi(argv[1]), std::stod(argv[2]), argv[3], {argv + 4, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "bench_peers: " << error.what() << '\n';
    return 1;
  }
}
