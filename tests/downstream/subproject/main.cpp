// A project that has sr as a Meson subproject; the planner is a template argument.
#include <cstdio>

#include <torch/script.h>

#ifndef OPS_FROM_PACK
#include <sr/ops/all.hpp>
#endif
#include <sr/sr.hpp>

template <class Planner>
bool agrees(const sr::StaticModule& module, torch::jit::Module& model) {
  sr::StaticRuntime<Planner> runtime{module};
  for (const int rows : {2, 5, 1}) {
    const at::Tensor x = at::randn({rows, 4});
    if (!at::allclose(runtime(x).toTensor(), model.forward({x}).toTensor())) return false;
  }
  return true;
}

int main() {
  torch::jit::Module model("tiny");
  model.define("def forward(self, x):\n    y = torch.relu(x) * 2\n    return torch.sigmoid(y + x)\n");
  model.eval();
  const sr::StaticModule module{model};
  const bool good =
      agrees<sr::memory::LinearScan>(module, model) && agrees<sr::memory::StandardResizing>(module, model);
  std::puts(good ? "ok" : "differs");
  return good ? 0 : 1;
}
