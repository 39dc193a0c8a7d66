// Compiled with what pkg-config says about the installed library.
#include <cstdio>
#include <exception>

#include <torch/script.h>

#include <sr/ops/all.hpp>
#include <sr/sr.hpp>

int main() try {
  torch::jit::Module model("tiny");
  model.define("def forward(self, x):\n    return torch.relu(x) + 1\n");
  model.eval();
  model.save("tiny.pt");

  const sr::StaticModule module = sr::load("tiny.pt");
  sr::StaticRuntime<sr::memory::LinearScan> runtime{module};
  const at::Tensor x = at::randn({3, 4});
  const c10::IValue out = runtime(x);
  const bool good = at::allclose(out.toTensor(), at::relu(x) + 1);
  std::puts(good ? "ok" : "differs");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::puts(error.what());
  return 1;
}
