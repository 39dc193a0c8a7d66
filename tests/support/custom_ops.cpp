#include "support/custom_ops.hpp"

#include <stdexcept>

#include <torch/library.h>
#include <torch/script.h>

namespace sr::test {

TORCH_LIBRARY(sr_test, library) {
  library.def("call(Tensor self) -> Tensor", [](const at::Tensor& self) {
    if (on_call()) on_call()(self);
    return self.clone();
  });
  library.def("returns_input(Tensor self) -> Tensor", [](const at::Tensor& self) { return self; });
  library.def("returns_view(Tensor self) -> Tensor", [](const at::Tensor& self) { return self.t(); });
  library.def("returns_in_list(Tensor self) -> Tensor[]", [](const at::Tensor& self) {
    return std::vector<at::Tensor>{self, self};
  });
  library.def("keep(Tensor self) -> Tensor", [](const at::Tensor& self) {
    kept() = self;
    return self.sum();
  });
  library.def("grow_(Tensor(a!) self) -> Tensor(a!)", [](at::Tensor self) {
    self.resize_({64, 64}).fill_(1);
    return self;
  });
}

}  // namespace sr::test
