// An operator registered in a shared library is found by the program, and used instead of LibTorch's.
#include <cstdio>
#include <memory>

#include <torch/csrc/jit/ir/irparser.h>
#include <torch/script.h>

#include <sr/sr.hpp>

#include "plugin.hpp"

int main() {
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"IR(
graph(%x : Tensor):
  %positive : Tensor = aten::relu(%x)
  %half : Tensor = my::halve(%positive)
  %out : Tensor = aten::neg(%half)
  return (%out))IR",
                      graph.get());
  const sr::StaticModule module{graph};
  sr::StaticRuntime<sr::memory::LinearScan> runtime{module};
  const at::Tensor x = at::randn({3, 4});
  const Calls before = plugin_calls();
  bool right = true;
  for (int run = 0; run < 4; ++run) right = right && at::allclose(runtime(x).toTensor(), -at::relu(x) / 2);
  const Calls after = plugin_calls();
  // LibTorch makes the tensor in the first and in the recorded run; replays call the functor.
  const bool ours = after.functor == before.functor + 2 && after.dispatcher == before.dispatcher + 2;
  std::puts(!right ? "differs" : !ours ? "the plugin's functor was not used" : "ok");
  return right && ours ? 0 : 1;
}
