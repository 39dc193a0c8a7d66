// A program that also uses LibTorch's front end.
#include <iostream>

#include <torch/script.h>

#include <sr/sr.hpp>

int main(int argc, char** argv) {
  torch::jit::Module model = torch::jit::load(argc > 1 ? argv[1] : "model.pt");
  model.eval();
  const sr::StaticModule module{model};
  sr::StaticRuntime<sr::memory::LinearScan> runtime{module};
  std::cout << runtime(at::ones({2, 3})).toTensor() << '\n';
}
