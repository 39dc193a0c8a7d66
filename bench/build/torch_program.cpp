// The same program on LibTorch's own runtime, with which the others are compared.
#include <iostream>

#include <torch/script.h>

int main(int argc, char** argv) {
  torch::jit::Module model = torch::jit::load(argc > 1 ? argv[1] : "model.pt");
  model.eval();
  std::cout << model.forward({at::ones({2, 3})}).toTensor() << '\n';
}
