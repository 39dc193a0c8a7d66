// One StaticModule is shared; each thread has a StaticRuntime.
#include <exception>
#include <iostream>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/script.h>

#include <sr/sr.hpp>

int main() try {
  torch::jit::Module model("Model");
  model.register_buffer("weight", torch::randn({16, 16}));
  model.define("def forward(self, x):\n    return torch.tanh(torch.mm(x, self.weight)) + x\n");
  const sr::StaticModule module(model);
  const torch::Tensor input = torch::randn({8, 16});
  const torch::Tensor expected = model.forward({input}).toTensor();

  std::vector<int> wrong(4, 0);  // by thread
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&module, &input, &expected, &count] {
      at::set_num_threads(1);  // for this thread: four runtimes share the cores already
      sr::StaticRuntime<> runtime{module};
      for (int run = 0; run < 1000; ++run) {
        // sr's kernels round in another order; Numerics::exact would make the results bit-identical.
        count += torch::allclose(runtime(input).toTensor(), expected, 1e-5, 1e-6) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  int total = 0;
  for (const int count : wrong) total += count;
  std::cout << threads.size() << " threads, 1000 runs each: " << total << " results differ\n";
  return total == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
