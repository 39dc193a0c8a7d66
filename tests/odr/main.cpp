// A header-only program of two files: this one compiles the library, the other one only uses it.
#ifndef SR_HEADER_ONLY  // may also be defined for all files of a program
#define SR_HEADER_ONLY
#endif
#include <cstdio>

#include <torch/script.h>

#include <sr/sr.hpp>

at::Tensor run_in_other_file(const sr::StaticModule& module, const at::Tensor& x);

int main() {
  torch::jit::Module model("tiny");
  model.define("def forward(self, x):\n    return torch.relu(x) + 1\n");
  model.eval();
  const sr::StaticModule module{model};
  const at::Tensor x = at::randn({3, 4});
  sr::StaticRuntime<sr::memory::LinearScan> runtime{module};
  const at::Tensor here = runtime(x).toTensor();
  const bool good = at::equal(here, run_in_other_file(module, x));
  std::puts(good ? "ok" : "differs");
  return good ? 0 : 1;
}
