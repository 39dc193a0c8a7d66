// A program of another project, which every test of tests/downstream builds: it saves a model, loads it, and
// chooses planners by template argument.
#include <cstdio>
#include <exception>
#include <string>
#include <unistd.h>

#include <torch/script.h>

#include <sr/sr.hpp>

template <class Planner>
bool agrees(const sr::StaticModule& module, torch::jit::Module& model) {
  sr::StaticRuntime<Planner> runtime{module};
  for (const int rows : {2, 5, 1, 5, 5}) {
    const at::Tensor x = at::randn({rows, 4});
    if (!at::allclose(runtime(x).toTensor(), model.forward({x}).toTensor())) return false;
  }
  return runtime.replayed_calls() > 0;
}

int main() try {
  torch::jit::Module model("tiny");
  model.define("def forward(self, x):\n    y = torch.relu(x) * 2\n    return torch.sigmoid(y + x)\n");
  model.eval();
  const std::string path = "tiny" + std::to_string(getpid()) + ".pt";  // others run in the same directory
  model.save(path);
  const sr::StaticModule module = sr::load(path);
  std::remove(path.c_str());
  const bool good =
      agrees<sr::memory::LinearScan>(module, model) && agrees<sr::memory::StandardResizing>(module, model);
  std::puts(good ? "ok" : "differs");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::puts(error.what());
  return 1;
}
