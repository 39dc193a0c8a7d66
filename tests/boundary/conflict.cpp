// The program and the plugin register different functors for one schema: the program must not start, and must
// say why.
#include <cstdio>

#include <torch/script.h>

#include <sr/sr.hpp>

#include "plugin.hpp"

namespace program {

struct OtherHalve {
  void operator()(const at::Tensor& self, at::Tensor& out) const {
    at::mul_out(out, self, at::scalar_tensor(0.5));
  }
};
inline const sr::OutVariant<"my::halve(Tensor self) -> Tensor", OtherHalve> halve;

}  // namespace program

int main() {
  std::printf("started, with %d calls\n", plugin_calls().functor);
  return 0;
}
