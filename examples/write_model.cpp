// write_model FILE: a small TorchScript archive for the examples, without Python.
#include <torch/script.h>

int main(int, char** argv) {
  torch::jit::Module module("Small");
  module.register_buffer("weight", torch::ones({4, 64}));
  module.define("def forward(self, x):\n    return torch.softmax(torch.linear(x, self.weight).relu(), -1)\n");
  module.save(argv[1]);
}
