// A user's shared library: an operator for LibTorch, and its out variant for sr.
#include "plugin.hpp"

#include <torch/library.h>
#include <torch/script.h>

#include <sr/sr.hpp>

namespace {

Calls calls;

at::Tensor halve(const at::Tensor& self) {
  ++calls.dispatcher;
  return self / 2;
}

}  // namespace

namespace plugin {

struct Halve {
  void operator()(const at::Tensor& self, at::Tensor& out) const {
    ++calls.functor;
    at::div_out(out, self, at::scalar_tensor(2, self.options()));
  }
};
inline const sr::OutVariant<"my::halve(Tensor self) -> Tensor", Halve> halve;

}  // namespace plugin

TORCH_LIBRARY(my, library) {
  library.def("halve(Tensor self) -> Tensor", &halve);
}

Calls plugin_calls() {
  return calls;
}
